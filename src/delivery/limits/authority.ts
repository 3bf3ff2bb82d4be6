/** What a check says about a message that may not leave now. */
export type Refusal = 'gone' | 'expired' | 'account_paused' | 'suppressed' | 'content_missing';

interface CheckStep {
  name: Refusal;
  /** SQL: true where the message must not leave. `q` queue row, `m` message, `a` account, `c` content. */
  refuses: string;
}

/**
 * The checks of every message, in order; the first that refuses decides. They become one `case` in the statement
 * that writes the intent, so that no message leaves on facts older than its intent.
 */
export const checkSteps: readonly CheckStep[] = [
  { name: 'gone', refuses: `m.status not in ('queued', 'held', 'unknown')` },
  { name: 'expired', refuses: `q.queued_at < now() - interval '72 hours'` },
  { name: 'account_paused', refuses: `a.sending_paused_at is not null` },
  {
    name: 'suppressed',
    refuses: `exists (
      select 1 from suppressions s
      where s.account_id = m.account_id and s.address_key = m.to_key and s.released_at is null
        and (s.expires_at is null or s.expires_at > now()))`,
  },
  { name: 'content_missing', refuses: `m.template_id is null and c.message_id is null` },
];

/** `send`, or the name of the first step that refuses. */
export const verdictSql = `case
    ${checkSteps.map((step) => `when ${step.refuses} then '${step.name}'`).join('\n    ')}
    else 'send' end`;
