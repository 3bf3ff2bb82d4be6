import { StatusBadge, Time } from '../../ui/details.tsx';
import { Notice } from '../../ui/notice.tsx';
import type { Webhook } from './webhook-events.ts';

/** Whether a webhook is on, and whether it fails. */
export function WebhookState({ webhook }: { webhook: Webhook }) {
  if (!webhook.enabled) return <StatusBadge status="off" />;
  return webhook.failing_since === null ? (
    <StatusBadge status="on" />
  ) : (
    <StatusBadge status="failing" tone="bad" />
  );
}

/** Why a webhook receives nothing, and what to do. */
export function WebhookTrouble({ webhook }: { webhook: Webhook }) {
  const { enabled, failing_since: since, disabled_at: off, disabled_reason: reason } = webhook;
  if (!enabled) {
    return (
      <Notice
        tone={reason === 'failing' ? 'bad' : 'warn'}
        title={reason === 'failing' ? 'Turned off: it failed for three days' : 'Turned off'}
      >
        <p>
          Off since <Time at={off} full />. Events that occur now are never sent, not even after it is turned
          on.
        </p>
        {reason === 'failing' && (
          <p>Fix the endpoint, turn the webhook on, send a test, then retry what failed.</p>
        )}
      </Notice>
    );
  }
  if (since === null) return null;
  return (
    <Notice tone="bad" title="Every attempt is failing">
      <p>
        Since <Time at={since} full />. The deliveries below show how your server responded. After three days
        of failures the webhook is turned off.
      </p>
    </Notice>
  );
}
