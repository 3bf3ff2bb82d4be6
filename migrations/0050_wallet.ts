/** Prices, the wallet and its entries, top-ups, and the log of what operators changed. */
export const name = '0050_wallet';

/**
 * The country of a telephone number by its first digits, including those after the calling code if several countries
 * share one (ITU-T E.164 and the list of area codes of the North American plan). The longest prefix decides. Numbers of
 * no country, such as satellite services, are not listed.
 */
const PHONE_PREFIXES = `
AC=247 AD=376 AE=971 AF=93 AG=1268 AI=1264 AL=355 AM=374 AO=244 AR=54 AS=1684 AT=43 AU=61 AW=297 AX=35818 AZ=994
BA=387 BB=1246 BD=880 BE=32 BF=226 BG=359 BH=973 BI=257 BJ=229 BM=1441 BN=673 BO=591 BQ=5993,5994,5997 BR=55 BS=1242
BT=975 BW=267 BY=375 BZ=501
CA=1204,1226,1236,1249,1250,1257,1263,1273,1289,1306,1343,1354,1365,1367,1368,1382,1403,1416,1418,1428,1431,1437
CA=1438,1450,1468,1474,1506,1514,1519,1548,1579,1581,1584,1587,1600,1604,1613,1622,1633,1639,1647,1672,1683,1705
CA=1709,1742,1753,1778,1780,1782,1807,1819,1825,1867,1873,1879,1902,1905,1942
CC=6189162 CD=243 CF=236 CG=242 CH=41 CI=225 CK=682 CL=56 CM=237 CN=86 CO=57 CR=506 CU=53 CV=238 CW=599 CX=6189164
CY=357 CZ=420 DE=49 DJ=253 DK=45 DM=1767 DO=1809,1829,1849 DZ=213 EC=593 EE=372 EG=20 EH=2125288,2125289 ER=291 ES=34
ET=251 FI=358 FJ=679 FK=500 FM=691 FO=298 FR=33 GA=241 GB=44 GD=1473 GE=995 GF=594 GG=441481,447781,447839,447911
GH=233 GI=350 GL=299 GM=220 GN=224 GP=590 GQ=240 GR=30 GT=502 GU=1671 GW=245 GY=592 HK=852 HN=504 HR=385 HT=509 HU=36
ID=62 IE=353 IL=972 IM=441624,447524,447624,447924 IN=91 IO=246 IQ=964 IR=98 IS=354 IT=39
JE=441534,447509,447700,447797,447829,447937 JM=1658,1876 JO=962 JP=81 KE=254 KG=996 KH=855 KI=686 KM=269 KN=1869
KP=850 KR=82 KW=965 KY=1345 KZ=76,77 LA=856 LB=961 LC=1758 LI=423 LK=94 LR=231 LS=266 LT=370 LU=352 LV=371 LY=218
MA=212 MC=377 MD=373 ME=382 MG=261 MH=692 MK=389 ML=223 MM=95 MN=976 MO=853 MP=1670 MQ=596 MR=222 MS=1664 MT=356
MU=230 MV=960 MW=265 MX=52 MY=60 MZ=258 NA=264 NC=687 NE=227 NF=672 NG=234 NI=505 NL=31 NO=47 NP=977 NR=674 NU=683
NZ=64 OM=968 PA=507 PE=51 PF=689 PG=675 PH=63 PK=92 PL=48 PM=508 PR=1787,1939 PS=970 PT=351 PW=680 PY=595 QA=974
RE=262 RO=40 RS=381 RU=7 RW=250 SA=966 SB=677 SC=248 SD=249 SE=46 SG=65 SH=290 SI=386 SJ=4779 SK=421 SL=232 SM=378
SN=221 SO=252 SR=597 SS=211 ST=239 SV=503 SX=1721 SY=963 SZ=268 TA=2908 TC=1649 TD=235 TG=228 TH=66 TJ=992 TK=690
TL=670 TM=993 TN=216 TO=676 TR=90 TT=1868 TV=688 TW=886 TZ=255 UA=380 UG=256 US=1 UY=598 UZ=998 VA=3906698 VC=1784
VE=58 VG=1284 VI=1340 VN=84 VU=678 WF=681 WS=685 XK=383 YE=967 YT=262269,262639 ZA=27 ZM=260 ZW=263`;

const prefixRows = PHONE_PREFIXES.trim()
  .split(/\s+/)
  .flatMap((entry) => {
    const [country = '', prefixes = ''] = entry.split('=');
    return prefixes.split(',').map((prefix) => `('${prefix}', '${country}')`);
  })
  .join(', ');

export const up = `
create table prices (
  tier text not null check (tier in ('free', 'paid', 'trusted')),
  kind text not null check (kind in ('email', 'sms', 'validation')),
  country text check (country ~ '^[A-Z]{2}$'),
  millicents bigint not null check (millicents between 0 and 1000000000),
  check ((kind = 'sms') = (country is not null)),
  unique nulls not distinct (tier, kind, country)
);
comment on table prices is
  'in millicents: an email above the monthly allowance, a segment of an SMS to a country, a conclusive validation result';

create table phone_prefixes (
  prefix text primary key,
  country text not null
);
insert into phone_prefixes (prefix, country) values ${prefixRows};
create function phone_country(number text) returns text language sql stable parallel safe as $$
  select country from phone_prefixes
  where prefix = any(array[substr(number, 2, 1), substr(number, 2, 2), substr(number, 2, 3), substr(number, 2, 4),
    substr(number, 2, 5), substr(number, 2, 6), substr(number, 2, 7)])
  order by length(prefix) desc limit 1
$$;
comment on function phone_country is 'ISO 3166 code of a number in E.164 form; null: of no country';

alter table accounts drop column wallet_balance_cents;
alter table accounts add column monthly_email_allowance integer check (monthly_email_allowance >= 0);
comment on column accounts.monthly_email_allowance is
  'emails of a calendar month (UTC) that cost nothing; null: the setting of the tier';

create table wallets (
  account_id bigint primary key references accounts,
  entries_millicents bigint not null
) with (fillfactor = 50);
comment on table wallets is 'the sum of the entries of an account, kept by a trigger of wallet_entries';

create table wallet_entries (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts,
  kind text not null check (kind in ('credit', 'debit', 'top_up', 'validation', 'refund', 'usage', 'dispute')),
  millicents bigint not null,
  reference text,
  cause text not null,
  month date check (extract(day from month) = 1),
  created_at timestamptz not null default now(),
  unique (account_id, cause)
);
comment on table wallet_entries is 'rows are only ever added';
comment on column wallet_entries.millicents is 'negative: the account pays';
comment on column wallet_entries.cause is 'what the entry is for; a second entry for the same is refused';
comment on column wallet_entries.month is 'of usage entries and of refunds for messages of that month';
create index wallet_entries_account on wallet_entries (account_id, id);

-- A trigger, so that statements that write entries in several places still change a wallet once.
create function sum_wallet_entries() returns trigger language plpgsql as $$
begin
  insert into wallets as w (account_id, entries_millicents)
  select account_id, sum(millicents) from added group by account_id order by account_id
  on conflict (account_id) do update set entries_millicents = w.entries_millicents + excluded.entries_millicents;
  return null;
end $$;
create trigger wallet_entries_summed after insert on wallet_entries referencing new table as added
  for each statement execute function sum_wallet_entries();

create function refuse_wallet_change() returns trigger language plpgsql as $$
begin
  raise exception 'entries of a wallet are never changed or removed' using errcode = 'CL010';
end $$;
create trigger wallet_entries_kept before update or delete or truncate on wallet_entries
  for each statement execute function refuse_wallet_change();

create table topup_settings (
  account_id bigint primary key references accounts,
  amount_cents integer not null check (amount_cents > 0),
  below_cents integer not null check (below_cents >= 0),
  customer text not null,
  payment_method text not null,
  failures integer not null default 0
);
comment on table topup_settings is 'of accounts whose wallet an operator lets fill itself; on only with accounts.auto_topup';
comment on column topup_settings.customer is 'as the payment service names it, like payment_method';
comment on column topup_settings.failures is 'top-ups that failed in a row; three turn auto_topup off';

create table topups (
  id bigint generated always as identity primary key,
  key uuid not null unique default gen_random_uuid(),
  account_id bigint not null references accounts,
  amount_cents integer not null check (amount_cents > 0),
  currency text not null,
  customer text not null,
  payment_method text not null,
  status text not null default 'pending' check (status in ('pending', 'succeeded', 'failed')),
  asked_at timestamptz,
  payment_id text unique,
  failure text,
  engine_expected_by timestamptz,
  created_at timestamptz not null default now(),
  finished_at timestamptz
);
comment on column topups.key is
  'goes with the request, so that the service makes one payment of it, and finds the payment: the same id may return with a backup';
comment on column topups.asked_at is 'when the request was about to leave; it is never sent again';
comment on column topups.payment_id is 'as the payment service names the payment';
create unique index topups_pending on topups (account_id) where status = 'pending';
create index topups_account on topups (account_id, id);
create index topups_expected on topups (engine_expected_by) where engine_expected_by is not null;

create table money_notices (
  account_id bigint not null references accounts on delete cascade,
  notice text not null check (notice in ('spend_cap_80', 'spend_cap_100', 'no_funds')),
  month date,
  created_at timestamptz not null default now(),
  primary key (account_id, notice)
);
comment on table money_notices is
  'mails that owners got: those of the spend cap for a month, no_funds until the account has funds again';

create table money_mismatches (
  account_id bigint not null,
  problem text not null,
  month date,
  expected bigint not null,
  found bigint not null,
  found_at timestamptz not null
);
comment on table money_mismatches is 'what the last nightly check found; nothing corrects it by itself';

create table account_log (
  id bigint generated always as identity primary key,
  account_id bigint references accounts on delete cascade,
  actor text not null,
  action text not null,
  changes jsonb not null default '{}',
  created_at timestamptz not null default now()
);
comment on table account_log is 'what operators changed, in the transaction of the change';
comment on column account_log.account_id is 'null: of the whole installation, such as a price';
comment on column account_log.changes is '{name: {from, to}}, or the facts of the action';
create index account_log_account on account_log (account_id, id);
`;

export const down = `
drop table account_log, money_mismatches, money_notices, topups, topup_settings, wallet_entries, wallets, prices;
drop function sum_wallet_entries, refuse_wallet_change, phone_country;
drop table phone_prefixes;
alter table accounts drop column monthly_email_allowance;
alter table accounts add column wallet_balance_cents integer not null default 0;
`;
