# An orchestrator of `relay` in Perl, of core modules alone and without spawn: busproof check relay --bus 'files:perl orchestrator.pl'
# Its ledger is ledger.txt: a line for each change (table, key, fields), and a line with a dot after each transaction.
# A copy is written into tmp, the ledger says where it goes, and it is renamed into the inbox: what has left tmp was delivered.
use strict;
use warnings;
use Digest::SHA qw(sha256_hex);
use Encode ();
use Errno qw(:POSIX);
use Fcntl qw(:DEFAULT :flock :seek :mode O_DIRECTORY O_NOFOLLOW);
use File::Path ();
use IO::Handle;
use JSON::PP ();
use POSIX qw(strftime);
use Time::HiRes qw(CLOCK_MONOTONIC clock_gettime lstat sleep stat);

my $NAME = qr/[a-zA-Z][a-zA-Z0-9_-]{0,62}/;
my %limit = (settle_ms => 100, malformed_ms => 5_000, orphan_ms => 30_000, message_bytes_max => 1 << 20, retries_max => 3, retry_ms => 1_000,
    rate_per_min => 6_000, retention_days => 30, agent_timeout_ms => 3_600_000, archive => 1);
my ($root, $ledger, $size, $now, $today, $last_pass, $last_id, $refused) = ($ENV{AGENT_RELAY_DIR} // "$ENV{HOME}/.agent-relay", undef, 0, 0, "", 0, 0, 0);
my (%state, %live, %seen, %new_seen, %waits, %doubtful);    # %live: files that are not yet put away

sub is_agent { my ($name) = @_; return $name =~ /\A$NAME\z/ && $name !~ /\A(?:__orchestrator__|system|root|admin|lead)\z/i }
sub broken { die { errno => $! + 0, text => "$_[0]: $!" } }
sub attempt { my ($work, @but) = @_; my @result = eval { $work->() }; my $no = $@ or return wantarray ? @result : $result[0];
    die $no if !ref $no || !grep { ($no->{errno} // 0) == $_ } @but; return }
my @GONE = (ENOENT, ENOTDIR, ELOOP);
my @TAKES_NOTHING = (ENOTDIR, ELOOP, EACCES, EPERM, EXDEV, EISDIR, EEXIST, ENOTEMPTY);

# Each folder is opened from the one above, and no link is followed: /proc/self/fd stands for openat, which Perl lacks.
sub within {
    my ($parts, $work, $make) = @_;
    my ($at, @opened) = ($root);
    for my $part (@$parts) {
        !$make || mkdir("$at/$part", 0700) || $!{EEXIST} || broken("$at/$part");
        sysopen my $fd, "$at/$part", O_RDONLY | O_DIRECTORY | O_NOFOLLOW or broken("$at/$part");
        push @opened, $fd;
        $at = "/proc/self/fd/" . fileno $fd;
    }
    return $work->($at);
}

sub names { my ($at) = @_; opendir my $folder, $at or broken($at); my @names = sort grep { !/\A\.\.?\z/ } readdir $folder; return @names }
# Perl tells times to a quarter of a microsecond, and those before 1970 as far in the future.
sub is_so { my @stat = @_ or return; my $mtime = sprintf "%.7f", $stat[9] < 2**63 ? $stat[9] : -1; return { mode => $stat[2], links => $stat[3], size => $stat[7], mtime => $mtime, looks => "$stat[7] $mtime $stat[1]" } }
sub look { return is_so(lstat $_[0]) }
sub odd { my ($is) = @_; return S_ISLNK($is->{mode}) ? "symlink" : !S_ISREG($is->{mode}) ? "not_regular" : $is->{links} > 1 ? "hard_link" : "" }
sub is_of { my ($message, $is) = @_; return $message->{size} == $is->{size} && $message->{mtime} eq $is->{mtime} }

sub content {    # nothing where it is another file, or changes meanwhile
    my ($path, $is) = @_;
    sysopen my $fd, $path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK or return;
    my ($data, $more) = ("", 1);
    $more = sysread($fd, $data, 1 << 20, length $data) // broken($path) while $more && length $data <= $is->{size};
    return is_so(stat $fd)->{looks} eq $is->{looks} ? $data : undef;
}

sub written {
    my ($folder, $name, $data) = @_;
    within($folder, sub {
        my ($at) = @_;
        unlink "$at/$name" or $!{ENOENT} or broken($name);
        sysopen my $fd, "$at/$name", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600 or broken($name);
        for (my $done = 0; $done < length $data;) { $done += syswrite($fd, $data, length($data) - $done, $done) // broken($name) }
        $fd->sync or broken($name);
    }, 1);
}

sub apply {
    for (@_) {
        my ($table, $key, %fields) = @$_;
        my $entry = $state{$table}{$key} = { %{ $state{$table}{$key} // {} }, %fields };
        next if $table ne "message";
        $last_id = $entry->{id} if $entry->{id} > $last_id;
        $entry->{away} ? delete $live{$key} : ($live{$key} = $entry);
    }
}

sub commit {
    my @changes = @_ or return;
    my $coded = sub { my $text = $_[0] // ""; $text =~ s/([^!-~]|[%=])/sprintf "%%%02X", ord $1/ge; $text };
    my $text = join "", map { my ($table, $key, %fields) = @$_; join(" ", $table, $coded->($key), map { "$_=" . $coded->($fields{$_}) } sort keys %fields) . "\n" } @changes;
    $text .= ".\n";
    my $done = eval {
        truncate $ledger, $size or broken("ledger");    # half a transaction, of one that was killed
        sysseek $ledger, $size, SEEK_SET;
        for (my $at = 0; $at < length $text;) { $at += syswrite($ledger, $text, length($text) - $at, $at) // broken("ledger") }
        $ledger->sync or broken("ledger");
    };
    if (!$done) { my $no = $@; truncate $ledger, $size; die $no }
    $size += length $text;
    apply(@changes);
}

sub start {
    umask 0077;
    $SIG{$_} = sub { exit 0 } for qw(TERM INT);
    mkdir $root, 0700;
    sysopen my $lock, "$root/.lock", O_RDWR | O_CREAT | O_NOFOLLOW, 0600 or die ".lock: $!\n";
    flock $lock, LOCK_EX | LOCK_NB or die "locked: another orchestrator runs on $root\n";
    truncate $lock, 0;
    syswrite $lock, "$$\n";
    mkdir "$root/$_", 0700 for qw(agents attachments archive tmp);
    chmod 0700, $root, "$root/agents";
    if (open my $config, "<:raw", "$root/config.json") { chmod 0600, $config; local $/; %limit = (%limit, %{ JSON::PP::decode_json(<$config>) }) }
    sysopen $ledger, "$root/ledger.txt", O_RDWR | O_CREAT | O_NOFOLLOW, 0600 or die "ledger.txt: $!\n";
    my @changes;
    while (my $line = <$ledger>) {
        last if $line !~ s/\n\z//;
        if ($line eq ".") { apply(@changes); @changes = (); $size = tell $ledger; next }
        my ($table, $key, @fields) = map { my $word = $_; $word =~ s/%([0-9A-F]{2})/chr hex $1/ge; $word } map { split /=/, $_, 2 } split / /, $line;
        push @changes, [$table, $key, @fields];
    }
    return $lock;
}

sub record { my ($tx, $event, $path) = @_; push @$tx, ["audit", keys(%{ $state{audit} }) + ++$refused, at_ms => $now, event => $event, path => $path] }
sub refuse { my ($tx, $event, $path, $what) = @_; return if ($state{known}{"$event $path"}{what} // "") eq $what; push @$tx, ["known", "$event $path", what => $what]; record($tx, $event, $path) }

sub age_ms {    # of a time that lies ahead: since it was first seen so
    my ($path, $is) = @_;
    my ($before, $clock) = ($seen{$path}, clock_gettime(CLOCK_MONOTONIC) * 1000);
    $new_seen{$path} = $before && $before->[0] eq $is->{looks} ? $before : [$is->{looks}, $clock];
    return $is->{mtime} * 1000 <= $now ? $now - $is->{mtime} * 1000 : $clock - $new_seen{$path}[1];
}

sub pass {
    ($now, my @tx) = (int(Time::HiRes::time() * 1000));
    $today = strftime "%Y-%m-%d", gmtime($now / 1000);
    $refused = 0;
    tidy();
    place($_) for having("processing");    # begun, and not ended
    record(\@tx, "clock_back", "") if $now < $last_pass;
    $last_pass = $now;
    my @agents = within(["agents"], sub { my ($at) = @_; grep { is_there(\@tx, $_, look("$at/$_")) } names($at) }, 1);
    while (my ($name, $agent) = each %{ $state{agent} }) {
        push @tx, ["agent", $name, status => "inactive"] if $agent->{status} eq "active" && $now - ($agent->{seen_at} || $agent->{at}) >= $limit{agent_timeout_ms};
    }
    push @tx, map { ["agent", $_, at => $now, status => "active"] } grep { !$state{agent}{$_} } @agents;
    my (%recent, @fresh);
    $now - 60_000 < $_->{found_at} && $_->{found_at} <= $now && $recent{ $_->{agent} }++ for values %{ $state{message} };
    %new_seen = ();
    for my $name (@agents) { attempt(sub { look_at(\@tx, \@fresh, $name, $limit{rate_per_min} - ($recent{$name} // 0)) }, @GONE, EACCES) }
    (%seen, %doubtful) = (%new_seen);
    attempt(sub { within(["archive"], sub { my ($at) = @_; rotate("$at/$_", $_) for names($at) }) }, @GONE);
    my $id = $last_id;
    for (sort { $a->{priority} <=> $b->{priority} || $a->{file} cmp $b->{file} || $a->{agent} cmp $b->{agent} } @fresh) {
        my %message = (%$_, id => ++$id, found_at => $now, tries => 0, tried_at => 0, away => 0);
        push @tx, ["message", delete $message{path}, %message], ["agent", $_->{agent}, seen_at => $now, status => "active"];
    }
    commit(@tx);
    for my $path (having("pending")) {
        my ($tries, $tried_at) = @{ $live{$path} }{qw(tries tried_at)};
        handle($path, $live{$path}) if !$tried_at || $now < $tried_at || $now - $tried_at >= $limit{retry_ms} * 2**($tries - 1);
    }
    commit(map { ["message", $_, away => 1] } grep { put_away($live{$_}) } having("done", "failed")) if $limit{archive};
}

sub tidy {    # all in tmp but what the ledger says is on its way
    my %is_sent = map { my ($message, %name) = ($live{$_}, split /,/, $live{$_}{plan}); map { ("$message->{id}-$_" => 1) } keys %name } having("processing");
    within(["tmp"], sub { my ($at) = @_; unlink map { "$at/$_" } grep { !$is_sent{$_} } names($at) }, 1);
}

sub having { my %is = map { $_ => 1 } @_; return sort { $live{$a}{id} <=> $live{$b}{id} } grep { $is{ $live{$_}{status} } } keys %live }
sub rotate { my ($path, $day) = @_; $day =~ /\A\d{4}-\d\d-\d\d\z/ && $day lt strftime("%Y-%m-%d", gmtime($now / 1000 - 86_400 * $limit{retention_days})) && File::Path::remove_tree($path) }

sub is_there {    # is it an agent's folder?
    my ($tx, $name, $is) = @_;
    return 0 if !$is;
    return refuse($tx, "symlink", "agents/$name", "a link") && 0 if S_ISLNK($is->{mode});
    return 0 if !S_ISDIR($is->{mode});
    return 1 if is_agent($name);
    return refuse($tx, "bad_agent_name", "agents/$name", "a folder") && 0;
}

sub look_at {
    my ($tx, $fresh, $agent, $room) = @_;
    within(["agents", $agent], sub { chmod 0700, "$_[0]/." });
    attempt(sub { within(["agents", $agent, "inbox"], sub { }, 1) }, @TAKES_NOTHING);
    my (%half, $waits);
    within(["agents", $agent, "outbox"], sub { }, 1);
    attempt(sub { within(["agents", $agent, "outbox", ".pending"], sub {
        my ($at) = @_;
        for my $file (names($at)) {
            my ($is, $path) = (look("$at/$file") // next, "agents/$agent/outbox/.pending/$file");
            if (!S_ISREG($is->{mode}) || age_ms($path, $is) <= $limit{orphan_ms}) { $half{$file} = 1 }
            elsif (unlink "$at/$file") { record($tx, "orphan_removed", $path) }
        }
    }, 1) }, @TAKES_NOTHING);
    within(["agents", $agent, "outbox"], sub {
        my ($at) = @_;
        for my $file (grep { /\.msg\z/ } names($at)) {
            my ($is, $path) = (look("$at/$file") // next, "agents/$agent/outbox/$file");
            my ($age, $known, $odd) = (age_ms($path, $is), $state{message}{$path}, odd($is));
            if ($odd) { refuse($tx, $odd, $path, $is->{looks}) }
            elsif ($file !~ /\A[0-9]{1,19}-[0-9a-f]{8}\.msg\z/) { refuse($tx, "bad_file_name", $path, $is->{looks}) }
            elsif ($known && is_of($known, $is) && !$doubtful{$path}) { next }
            elsif ($known && $known->{status} ne "pending") { refuse($tx, "name_reused", $path, $is->{looks}) }
            elsif (!$known && $room <= 0) { $waits = 1 }
            elsif (!$half{$file} && $age >= $limit{settle_ms} && (my $judged = judged("$at/$file", $is, $age))) {
                my %message = (%$judged, agent => $agent, file => $file, size => $is->{size}, mtime => $is->{mtime});
                if ($known) { delete $message{priority}; push @$tx, ["message", $path, %message, tried_at => 0] }
                else { $room--; push @$fresh, { %message, path => $path } }
            }
        }
    });
    record($tx, "rate_limited", "agents/$agent") if $waits && !$waits{$agent};
    $waits{$agent} = $waits;
}

sub judged {
    my ($path, $is, $age) = @_;
    my %failed = (priority => 5, status => "failed", sum => "");
    return { %failed, error => "too_large" } if $is->{size} > $limit{message_bytes_max};
    my $data = content($path, $is) // return;
    my $message = parsed($data);
    return { priority => $message->{priority}, status => "pending", sum => sha256_hex($data), error => "" } if $message && $message->{is_whole};
    return if $age < $limit{malformed_ms};
    return { %failed, sum => sha256_hex($data), error => !length $data ? "empty" : $message ? "checksum_mismatch" : "malformed" };
}

sub parsed {
    my ($data) = @_;
    my $blank = index $data, "\n\n";
    return if $blank < 0 || !defined eval { Encode::decode("UTF-8", my $copy = $data, Encode::FB_CROAK) };
    my %header;
    for my $line (split /\n/, Encode::decode("UTF-8", substr $data, 0, $blank), -1) {
        my ($name, $value) = $line =~ /\A([A-Z][A-Z0-9_-]*):[ \t]*(.*?)[ \t]*\z/s or return;
        return if $value eq "" || exists $header{$name} || $name =~ /\A(?:FROM|ID)\z/ || $value =~ /\p{Cc}/;
        $header{$name} = $value;
    }
    my ($to, $kind, $priority, $body) = ($header{TO} // return, $header{KIND} // "message", $header{PRIORITY} // 5, substr $data, $blank + 2);
    return if $kind !~ /\A(?:message|spawn|release|ack|nack|status|continuity)\z/ || $priority !~ /\A[0-9]\z/;
    for (qw(CHECKSUM ATTACHMENT)) { return if defined $header{$_} && $header{$_} !~ /\Asha256:[0-9a-f]{64}\z/ }
    my $is_whole = !defined $header{CHECKSUM} || $header{CHECKSUM} eq "sha256:" . sha256_hex($body);
    return { to => $to, kind => $kind, priority => $priority, body => $body, is_whole => $is_whole, attachment => $header{ATTACHMENT} };
}

sub handle {
    my ($path, $message) = @_;
    my $fails = sub { commit(["message", $path, status => "failed", error => $_[0], tries => $message->{tries} + 1, away => $_[1] // 0]) };
    my $file = attempt(sub { within(["agents", $message->{agent}, "outbox"], sub {
        my $is = look("$_[0]/$message->{file}");
        return if !$is || odd($is);
        return { data => is_of($message, $is) ? content("$_[0]/$message->{file}", $is) : undef };
    }) }, @GONE) or return $fails->("file_disappeared", 1);
    return $doubtful{$path} = 1 if !defined $file->{data} || sha256_hex($file->{data}) ne $message->{sum};
    return $fails->("too_large") if $message->{size} > $limit{message_bytes_max};    # of an orchestrator that took more
    my ($to, @changes) = eval { answer($message->{agent}, parsed($file->{data})) };
    if (my $no = $@) {
        die $no if !ref $no || !$no->{reason};
        return $fails->($no->{reason}) if !$no->{may_come} || $message->{tries} >= $limit{retries_max};
        return commit(["message", $path, tries => $message->{tries} + 1, tried_at => $now, error => $no->{reason}]);
    }
    return commit(["message", $path, status => "done"], @changes) if !@$to;
    my ($stem, %name) = ($message->{file} =~ s/\.msg\z//r);
    my $data = @changes ? "FROM: __orchestrator__\nID: $message->{agent}/$stem\nTO: $message->{agent}\nKIND: continuity\n\n$changes[0]"
        : "FROM: $message->{agent}\nID: $message->{agent}/$stem\n$file->{data}";
    for (@$to) {
        my $ns = $now * 1_000_000;
        $ns = $state{newest}{$_}{ns} + 1 if $state{newest}{$_} && $state{newest}{$_}{ns} >= $ns;
        $name{$_} = sprintf "%019d%s", $ns, substr $message->{file}, -13;
        written(["tmp"], "$message->{id}-$_", $data);
    }
    commit(["message", $path, status => "processing", plan => join ",", %name], map { ["newest", $_, ns => $name{$_} =~ s/-.*//r] } @$to);
    return place($path);
}

sub place {
    my ($path) = @_;
    my %name = split /,/, $live{$path}{plan};
    my @lost = grep { !arrives("$live{$path}{id}-$_", $_, $name{$_}) } sort keys %name;
    commit(["message", $path, status => "done", plan => "", lost => join ",", @lost]);
    tidy() if @lost;
}

sub arrives {
    my ($from, $to, $name) = @_;
    return within(["tmp"], sub {
        my ($tmp) = @_;
        for (1 .. 3) {
            return 1 if !look("$tmp/$from");    # it came before
            my $came = eval { within(["agents", $to, "inbox"], sub { rename "$tmp/$from", "$_[0]/$name" or broken($name) }, 1) } and return 1;
            my $no = $@;
            return 0 if ref $no && grep { $no->{errno} == $_ } @TAKES_NOTHING;
            die $no if !ref $no || $no->{errno} != ENOENT;    # an inbox that went meanwhile is made again
        }
        return 0;
    }, 1);
}

sub failed { my ($reason, $may_come) = @_; die { reason => $reason, may_come => $may_come } }

sub answer {    # recipients, and changes; of a load the state in their place
    my ($me, $message) = @_;
    my ($to, $kind, $body) = @$message{qw(to kind body)};
    my ($agents, $is_mine) = ($state{agent}, $to eq "__orchestrator__");
    failed("bad_address") if !$is_mine && $to !~ /\A(?:Lead|\*|#$NAME)\z/ && !is_agent($to);
    failed("misdirected") if !$is_mine && $kind =~ /\A(?:spawn|release|continuity)\z/;
    look_at_attachment($1) if ($message->{attachment} // "") =~ /:(.*)/;
    return [grep { $_ ne $me && $agents->{$_}{status} eq "active" } sort keys %$agents] if $to eq "*";
    return [sort map { /\A\Q$to\E (.*)/ && $1 ne $me && $state{channel}{$_}{on} ? $1 : () } keys %{ $state{channel} }] if $to =~ /\A#/;
    failed("no_lead", 1) if $to eq "Lead" && !$agents->{ $limit{lead} // "" };
    return [$limit{lead}] if $to eq "Lead";
    failed("unknown_agent", 1) if !$is_mine && !$agents->{$to};
    return [$to] if !$is_mine;
    failed($kind eq "spawn" ? "denied" : "unknown_agent") if $kind =~ /\A(?:spawn|release)\z/;    # it starts no processes
    return ([], ["agent", $me, state => $1]) if $kind eq "continuity" && $body =~ /\AACTION: save(?:\n(.*))?\z/s;
    return ([$me], $agents->{$me}{state} // "") if $kind eq "continuity" && $body =~ /\AACTION: load(?:\n|\z)/;
    failed("bad_request") if $kind eq "continuity";
    my @changes;
    for ($kind eq "status" ? split /\n/, $body : ()) {
        my ($un, $list) = /\A(UN)?SUBSCRIBE:(.*)\z/s or next;
        for my $word (split /,/, $list, -1) {
            my ($channel) = $word =~ /\A[ \t]*(#$NAME)[ \t]*\z/ or failed("bad_request");
            push @changes, ["channel", "$channel $me", on => $un ? 0 : 1];
        }
    }
    return ([], @changes);
}

sub look_at_attachment {
    my ($hash) = @_;
    my $is = attempt(sub { within(["attachments", substr $hash, 0, 2], sub { my $is = look("$_[0]/$hash") or return; { data => odd($is) ? undef : content("$_[0]/$hash", $is) } }) }, @GONE);
    failed("attachment_missing") if !$is;
    failed("attachment_corrupt") if !defined $is->{data} || sha256_hex($is->{data}) ne $hash;
}

sub put_away {    # false: not yet; what its agent has written anew stays where it is
    my ($message) = @_;
    my $is_done = 1;
    attempt(sub { within(["agents", $message->{agent}, "outbox"], sub {
        my $from = "$_[0]/$message->{file}";
        my $stat = look($from);
        return if !$stat || odd($stat) || !is_of($message, $stat);
        eval { within(["archive", $today, $message->{agent}], sub {
            my ($to, $n) = ("$_[0]/$message->{file}", 0);
            $to = "$_[0]/$message->{file}." . ++$n while look($to);
            rename $from, $to or broken($from);
            return look($from) || rename $to, $from if !is_of($message, look($to));
            chmod 0600, $to;
        }, 1); 1 } or $is_done = !look($from);
    }) }, @GONE);
    return $is_done;
}

my $lock = start();
while (1) { eval { pass(); 1 } or eval { my $no = $@; tidy(); die $no } or warn ref $@ ? "$@->{text}\n" : $@; sleep 0.1 }
