-- Accepts a set of messages by write_messages, in whose words it returns them. Some of them may be the copies of letters:
-- then it also chooses the provider of each letter, and writes the letter with its files. If the set is atomic and a message
-- is not written, it raises CL021 with the outcomes of the others as JSON, by id; messages whose key an earlier request has
-- taken are not among them. If a file of a letter is gone, it raises CL022 with the hashes of those that are; if no
-- provider of the account can take a letter, CL023 with its id and the facts of the first. Each error undoes everything.
--
-- sent by: writeSet
-- given: as in write_messages, and so are the parameters up to links. One that is not there has its default
-- ids: their ids; the first of its copies is that of a letter
-- accounts: their accounts
-- channels: their channels
-- segments: their segments
-- numbers: the keys of their recipients
-- brands: their brands
-- endpoints: the names under which their keys are kept
-- keys: their keys
-- fingerprints: the fingerprints of their requests in Base64
-- scheduled: the times when they are to be sent
-- domains: their sending domains
-- statuses: their states
-- tests: whether they are tests
-- ended: those that are tests or have events
-- reserving: whether to reserve prices
-- limited: whether the limits count the messages
-- settings: the settings of the limits
-- links: the address and the key of tracked links
-- aliases: the id, brand and digest of those whose clients gave them a Message-ID
-- atomic: whether to write all messages or none. A set with a letter must be atomic
-- letters: what the copies of each letter share, as write-set.ts makes it, and where they stand among the messages; null:
--   there are none. All letters are of one account
-- files: the files of all letters, each with the place of its letter's first copy; null: there are none
-- addresses: their addresses without a copy, in the same way; null: there are none
-- locks: attachment_files in the order of their hashes, so that no stored file of a letter is removed before the commit;
--   then what choose_provider locks; then what write_messages locks
-- sees: the files that exist once they are locked, and the providers as they are then. The limits of providers may change
--   before the commit, so senders check them again
create function accept_set(
  given json, ids bigint[], accounts bigint[], channels text[] default null, segments int[] default null,
  numbers text[] default null, brands bigint[] default null, endpoints text[] default null, keys text[] default null,
  fingerprints text[] default null, scheduled timestamptz[] default null, domains bigint[] default null,
  statuses text[] default null, tests boolean[] default null, ended json default null, reserving boolean default false,
  limited boolean default false, settings jsonb default null, links jsonb default null, aliases json default null,
  atomic boolean default false, letters json default null, files json default null, addresses json default null)
returns table (
  id bigint, outcome text, from_address text, reply_to text, tracking jsonb, created_at timestamptz, provider_id bigint)
language plpgsql as $$
#variable_conflict use_column
declare
  hashes bytea[];
  found_hashes bytea[];
  letter record;
  candidates bigint[];
  able bigint[];
  unable json;
  route bigint;
  routes bigint[];
  decided bigint[] := '{}';
  outcomes text[] := '{}';
  written int := 0;
begin
  if letters is not null then
    hashes := array(
      select distinct decode(f.sha256, 'hex') from json_to_recordset(files) as f (sha256 text, stored boolean) where f.stored);
    if cardinality(hashes) > 0 then
      found_hashes := array(
        select f.sha256 from attachment_files f
        where f.account_id = accounts[1] and f.sha256 = any (hashes) order by f.sha256 for key share);
      if cardinality(found_hashes) < cardinality(hashes) then
        raise exception 'a file of the letter is gone' using errcode = 'CL022', detail = (
          select json_agg(encode(h, 'hex')) from unnest(hashes) h where h <> all (found_hashes));
      end if;
    end if;
    for letter in
      select * from json_to_recordset(letters) as l (
        first int, count int, provider_id bigint, default_kind text, wire_bytes int, shows_others boolean, is_raw boolean,
        is_scheduled boolean)
    loop
      candidates := array(
        select c.id
        from accounts a
        cross join unnest(case when a.email_provider_ids is null then array[letter.provider_id]
          else letter.provider_id || a.email_provider_ids end) with ordinality as c (id, n)
        where a.id = accounts[1] and (c.id = 0 or exists (
          select from providers p where p.id = c.id and p.channel = 'email' and p.removed_at is null))
        order by c.n);
      if cardinality(candidates) = 0 then candidates := '{0}'; end if;
      select array_agg(p.id order by p.n) filter (where letter.wire_bytes <= coalesce(p.max_bytes, letter.wire_bytes)
          and not (p.cc_is_envelope and letter.shows_others) and (p.takes_mime or not letter.is_raw)),
        (json_agg(p order by p.n)) -> 0
      into able, unable
      from (
        select k.id, k.n, k.name, k.kind,
          least(
            -- <max_bytes>
            case k.kind when 'ses' then 30408704 when 'mailgun' then 26214400 when 'sendgrid' then 31457280
            when 'postmark' then 10485760 when 'resend' then 41943040 end
            -- </max_bytes>
            , (select z.max_bytes from provider_sizes z where z.provider_id = k.id)) as max_bytes,
          -- <cc_is_envelope>
          coalesce(case k.kind when 'sendgrid' then true when 'postmark' then true when 'resend' then true end, false)
          -- </cc_is_envelope>
          as cc_is_envelope,
          -- <takes_mime>
          coalesce(case k.kind when 'capture' then true when 'smtp' then true when 'ses' then true
            when 'mailgun' then true end, false)
          -- </takes_mime>
          as takes_mime
        from (
          select c.id, c.n, p.name, coalesce(p.kind, letter.default_kind) as kind
          from unnest(candidates) with ordinality as c (id, n) left join providers p on p.id = c.id) k) p;
      if able is null then
        raise exception 'no provider can take the letter' using errcode = 'CL023',
          detail = json_build_object('id', ids[letter.first], 'provider', unable);
      end if;
      -- An outage of the present does not matter to a letter that is to be sent later.
      route := case when letter.is_scheduled then able[1] else choose_provider('email', able[1], able[2:]) end;
      for n in letter.first .. letter.first + letter.count - 1 loop routes[n] := route; end loop;
    end loop;
  end if;
  for id, outcome, from_address, reply_to, tracking, created_at, provider_id in
    select * from write_messages(
      given, ids, accounts, channels, segments, numbers, brands, endpoints, keys, fingerprints, scheduled, domains,
      statuses, tests, ended, reserving, false, false, limited, settings, links, routes, aliases)
  loop
    decided := decided || id;
    outcomes := outcomes || outcome;
    if outcome = 'written' or outcome = 'charged' then written := written + 1; end if;
    return next;
  end loop;
  if atomic and written < cardinality(ids) then
    raise exception 'not all messages of the set can be written' using errcode = 'CL021', detail = (
      select coalesce(json_object_agg(o.id, o.outcome), '{}') from unnest(decided, outcomes) as o (id, outcome));
  end if;
  if letters is null then return; end if;
  insert into letters (id, account_id, brand_id, message_ids, html, text, headers, reply_to, wire_bytes, opaque, places)
  select ids[l.first], accounts[1], l.brand_id, ids[l.first:l.first + l.count - 1], l.html, l.text, l.headers, l.reply_to,
    l.wire_bytes, l.opaque, l.places
  from json_to_recordset(letters) as l (
    first int, count int, brand_id bigint, html text, text text, headers jsonb, reply_to text[], wire_bytes int,
    opaque jsonb, places smallint[]);
  if addresses is not null then
    insert into letter_addresses (letter_id, n, brand_id, kind, address, address_key)
    select ids[a.first], a.n, a.brand_id, a.kind, a.address, a.address_key
    from json_to_recordset(addresses) as a (
      first int, n smallint, brand_id bigint, kind text, address text, address_key text);
  end if;
  if files is not null then
    insert into message_attachments (
      message_id, n, account_id, filename, content_type, content_id, disposition, size, sha256, stored)
    select ids[f.first], f.n, accounts[1], f.filename, f.content_type, f.content_id, f.disposition, f.size,
      decode(f.sha256, 'hex'), f.stored
    from json_to_recordset(files) as f (
      first int, n smallint, filename text, content_type text, content_id text, disposition text, size int, sha256 text,
      stored boolean);
  end if;
end $$;
