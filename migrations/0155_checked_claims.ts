/** A canceled message may be claimed: its sender has to look once more, under the lock of its intent. */
export const name = '0155_checked_claims';

export const up = `
alter table processes add column checks_claims boolean not null default false;
comment on column processes.checks_claims is
  'whether its intents leave out messages whose claims were recalled; those of earlier versions do not';
comment on column accounts.recipients_changed_at is
  'when the API last suppressed or unsubscribed a recipient, within five seconds, or a minute after it last recalled a claim; see await_intents';
`;

export const down = `
comment on column accounts.recipients_changed_at is
  'when the API last suppressed or unsubscribed a recipient, within five seconds; see await_intents';
alter table processes drop column checks_claims;
`;
