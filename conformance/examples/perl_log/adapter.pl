# A `worker` bus in Perl, of core modules alone: one file of JSON lines, appended under flock, read on by every session.
# It asks `time`, and nobody can tell it another: busproof check worker --clock faketime --bus 'exec:perl adapter.pl'
use strict;
use warnings;
use Fcntl qw(:flock SEEK_SET);
use IO::Handle;
use JSON::PP;
use Time::HiRes ();

use constant LEASE_MS => 60_000;
my $json = JSON::PP->new->utf8->canonical->allow_nonref;
my ($file, $read_upto, @messages, %by_id, %cursor, %claim, %beat);

sub refused { my ($code, $message) = @_; die { code => $code, message => $message } }
sub failed { refused($!{ENOSPC} || $!{EDQUOT} ? "DISK_FULL" : "IO_ERROR", "$!") }
sub now_ms { return int(Time::HiRes::time() * 1000) }
sub bool { return $_[0] ? JSON::PP::true : JSON::PP::false }

my %apply = (
    message => sub { my ($m) = @_; push @messages, $m; $m->{seq} = @messages; $by_id{ $m->{id} } = $m },
    ack     => sub { my ($r) = @_; my $at = \$cursor{ $r->{agent} }; $$at = $r->{seq} if $r->{seq} > ($$at // 0) },
    claim   => sub { my ($r) = @_; $claim{ $r->{task} } = $r },
    release => sub { my ($r) = @_; delete $claim{ $r->{task} } },
    beat    => sub { my ($r) = @_; $beat{ $r->{agent_id} } = $r },
);

# Read on from where this session was. A last line without its end, or with a hole that a power cut left, was never acknowledged.
sub catch_up {
    my ($text, $more) = ("", 1);
    sysseek $file, $read_upto, SEEK_SET;
    $more = sysread($file, $text, 1 << 16, length $text) // failed() while $more;
    my @lines = split /(?<=\n)/, $text;
    while (defined(my $line = shift @lines)) {
        my $event = $line =~ /\n\z/ && eval { $json->decode($line) };
        die { code => "CORRUPT", message => "a line is no JSON", definite => 0 } if !$event && @lines;
        return truncate($file, $read_upto) || failed() if !$event;
        $read_upto += length $line;
        $apply{ $event->[0] }->($event->[1]);
    }
}

# Nothing is buffered: a line that was refused would be written with the next one.
sub append {
    my ($kind, $row) = @_;
    my ($line, $at) = ($json->encode([$kind, $row]) . "\n", 0);
    $at += syswrite($file, $line, length($line) - $at, $at) // failed() while $at < length $line;
    $file->sync or die { code => "IO_ERROR", message => "stored, but perhaps not on the disk: $!", definite => 0 };
    $read_upto += length $line;
    return $apply{$kind}->($row);
}

sub alone {
    my ($do) = @_;
    flock $file, LOCK_EX or failed();
    my $result = eval { catch_up(); $do->() };
    my $no = $@;
    flock $file, LOCK_UN;
    die $no if $no;
    return $result;
}

sub publish {
    my ($p) = @_;
    my ($sender, $m) = @$p{qw(agent_id message)};
    refused("INVALID_ARGUMENT", "a message has a sender and a type") if ref $sender || !length($sender // "") || !length($m->{type} // "");
    my %said = (from_agent => $sender, to_agent => $m->{to}, map { exists $m->{$_} ? ($_ => $m->{$_}) : () } qw(type correlation_id in_reply_to payload));
    return alone(sub {
        my $id = $m->{id} // uuid4();
        if (my $known = $by_id{$id}) {
            my %before = %$known;
            delete @before{qw(seq id ts_ms)};
            refused("ID_CONFLICT", "$id is another message") if $json->encode(\%before) ne $json->encode(\%said);
            return { id => $id, seq => $known->{seq} };
        }
        append(message => { %said, id => $id, ts_ms => now_ms() });
        return { id => $id, seq => scalar @messages };
    });
}

sub uuid4 {
    open my $source, "<:raw", "/dev/urandom" or failed();
    read $source, my $bytes, 16;
    vec($bytes, 6, 8) = 0x40 | vec($bytes, 6, 8) & 0x0f;
    vec($bytes, 8, 8) = 0x80 | vec($bytes, 8, 8) & 0x3f;
    return join "-", map { unpack "H*", $_ } unpack "a4 a2 a2 a2 a6", $bytes;
}

sub held { my ($p) = @_; my $of = $claim{ $p->{task_id} }; return $of && $of->{agent} eq $p->{agent_id} ? $of : undef }

sub state_of { my ($age) = @_; return $age < 30_000 ? "ALIVE" : $age < 100_000 ? "WARN" : $age < 300_000 ? "STALE" : "DEAD" }

my %methods = (
    hello => sub { return {
        protocol => "1", name => "perl-log", version => "1", language => "perl", systems => ["worker"],
        nouns => [qw(log cursor route lease presence)], features => ["seq"], clock => "wall",
    } },
    open => sub {
        my ($p) = @_;
        @messages = ();
        %$_ = () for \%by_id, \%cursor, \%claim, \%beat;
        open $file, "+>>:raw", "$p->{store}/bus.jsonl" or failed();
        $read_upto = 0;
        return {};
    },
    close => sub { close $file; return {} },
    publish => \&publish,
    poll => sub {
        my ($p) = @_;
        return alone(sub {
            my ($after, $left) = ($cursor{ $p->{agent_id} } // 0, $p->{limit} // 100);
            my @found = grep { !defined $_->{to_agent} || $_->{to_agent} eq $p->{agent_id} } @messages[$after .. $#messages];
            splice @found, $left if @found > $left;
            return { messages => \@found };
        });
    },
    ack => sub {
        my ($p) = @_;
        return alone(sub {
            refused("INVALID_ARGUMENT", "the newest seq is " . @messages) if $p->{seq} > @messages;
            append(ack => { agent => $p->{agent_id}, seq => $p->{seq} });
            return {};
        });
    },
    try_claim_task => sub {
        my ($p) = @_;
        return alone(sub {
            my ($of, $now_ms) = ($claim{ $p->{task_id} }, now_ms());
            return { claimed => bool(0) } if $of && $of->{until_ms} > $now_ms;
            append(claim => { task => $p->{task_id}, agent => $p->{agent_id}, until_ms => $now_ms + LEASE_MS });
            return { claimed => bool(1) };
        });
    },
    renew_claim => sub {
        my ($p) = @_;
        return alone(sub {
            return { renewed => bool(0) } if !held($p);
            append(claim => { task => $p->{task_id}, agent => $p->{agent_id}, until_ms => now_ms() + LEASE_MS });
            return { renewed => bool(1) };
        });
    },
    release_claim => sub {
        my ($p) = @_;
        return alone(sub {
            return { released => bool(0) } if !held($p);
            append(release => { task => $p->{task_id} });
            return { released => bool(1) };
        });
    },
    heartbeat => sub {
        my ($p) = @_;
        refused("INVALID_ARGUMENT", "no such status") if ($p->{status} // "") !~ /\A(?:idle|working|blocked)\z/;
        return alone(sub { append(beat => { %$p, ts_ms => now_ms() }); return {} });
    },
    liveness => sub {
        return alone(sub {
            my $now_ms = now_ms();
            return { agents => [map { my $age = $now_ms - $_->{ts_ms}; +{ %$_, age_ms => $age, state => state_of($age) } } values %beat] };
        });
    },
);

$| = 1;
while (my $line = <STDIN>) {
    my $id = undef;
    my $answer = eval {
        my $request = eval { $json->decode($line) };
        die { rpc => -32700, message => "no JSON: $@" } if $@;
        die { rpc => -32600, message => "no object" } if ref $request ne "HASH";
        $id = $request->{id};
        die { rpc => -32600, message => "no request" } if !defined $request->{method} || ref $request->{params} ne "HASH";
        my $method = $methods{ $request->{method} } or die { rpc => -32601, message => "no method $request->{method}" };
        { result => $method->($request->{params}) };
    };
    if (my $no = $@) {
        $no = { code => "INTERNAL", message => "$no", rpc => -32000, definite => 0 } if ref $no ne "HASH";
        my $definite = bool($no->{definite} // 1);
        $answer = { error => { code => $no->{rpc} // -32000, message => "$no->{message}",
                data => { code => $no->{code} // "INVALID_ARGUMENT", definite => $definite } } };
    }
    print $json->encode({ jsonrpc => "2.0", id => $id, %$answer }), "\n";
}
