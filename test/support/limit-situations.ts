/** How each limit comes to apply to what waits. */
import type { LimitName } from '../../src/delivery/ledger/limits/authority.ts';

/** SQL: gives the account $1 a verified domain. */
const newDomain = `
      insert into domains (account_id, brand_id, name, status, return_path_host, tracking_host)
      select $1::bigint, id, 'new' || gen_random_uuid() || '.test', 'verified', 'r', 't' from brands
      where account_id = $1 returning id`;

/** SQL that makes each limit apply to the messages and the campaign blocks of the account $1. */
export const limitSituations: Record<LimitName, string> = {
  gone: `update messages set status = 'canceled' where account_id = $1`,
  expired: `update send_queue set queued_at = now() - interval '73 hours' where account_id = $1`,
  domain_deleted: `with queued as (
      update send_queue set domain_id = 999999999 where account_id = $1
    ) update campaign_blocks set domain_id = 999999999 where account_id = $1`,
  domain_unverified: `with lost as (
      insert into domains (account_id, brand_id, name, status, lost_at, return_path_host, tracking_host)
      select $1::bigint, id, 'lost.test', 'failed', now(), 'r', 't' from brands where account_id = $1 returning id
    ), queued as (
      update send_queue set domain_id = (select id from lost) where account_id = $1
    ) update campaign_blocks set domain_id = (select id from lost) where account_id = $1`,
  warm_up: `with domain as (${newDomain}
    ), warm_up as (
      insert into warm_ups (domain_id, account_id, daily_limit) select id, $1, 0 from domain
    ), queued as (
      update send_queue set domain_id = (select id from domain) where account_id = $1
    ) update campaign_blocks set domain_id = (select id from domain) where account_id = $1`,
  pacing: `with domain as (${newDomain}
    ), pace as (
      insert into domain_paces (domain_id, account_id, per_minute, minute, used)
      select id, $1, 1, now() + interval '1 hour', 1 from domain
    ), queued as (
      update send_queue set domain_id = (select id from domain) where account_id = $1
    ) update campaign_blocks set domain_id = (select id from domain) where account_id = $1`,
  spend_cap_end: `with old as (
      update send_queue set queued_at = now() - interval '73 hours' where account_id = $1
    ) update messages set hold = '{"reason": "spend_cap"}' where account_id = $1`,
  wallet_end: `with old as (
      update send_queue set queued_at = now() - interval '73 hours' where account_id = $1
    ) update messages set hold = '{"reason": "wallet"}' where account_id = $1`,
  spend_cap: `with price as (
      insert into prices (tier, kind, millicents) values ('paid', 'email', 1000) on conflict do nothing
    ), credit as (
      insert into wallet_entries (account_id, kind, millicents, cause) values ($1, 'credit', 5000, 'test/credit')
    ) update accounts set tier = 'paid', spend_cap_monthly_cents = 0 where id = $1`,
  wallet: `with price as (
      insert into prices (tier, kind, millicents) values ('paid', 'email', 1000) on conflict do nothing
    ), debit as (
      insert into wallet_entries (account_id, kind, millicents, cause) values ($1, 'debit', -10000, 'test/debit')
    ) update accounts set tier = 'paid' where id = $1`,
  account_paused: 'update accounts set sending_paused_at = now() where id = $1',
  allowance: 'update accounts set allowance_per_day = 0 where id = $1',
  sandbox_cap: 'update accounts set sandbox_monthly_cap = 0 where id = $1',
  suppressed: `insert into suppressions (account_id, address_key, reason)
    select distinct account_id, to_key, 'manual' from messages where account_id = $1`,
  content_missing: `with letter as (delete from letters where account_id = $1)
    delete from message_contents
    where message_id in (select id from messages where account_id = $1)`,
};

/** SQL that gives the tier of the account $1 prices for texts, but none for other countries than France. */
export const NO_PRICE = `with price as (
     insert into prices (tier, kind, country, millicents) values ('free', 'sms', 'FR', 1000) on conflict do nothing
   ), credit as (
     insert into wallet_entries (account_id, kind, millicents, cause) values ($1, 'credit', 5000, 'test/credit')
   ) update accounts set tier = 'free' where id = $1`;
