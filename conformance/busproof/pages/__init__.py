"""What people read: reports, generated pages, explanations, templates."""
