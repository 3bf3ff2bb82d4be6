import { useState } from 'react';
import { api, call } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/code.tsx';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { Card } from '../../ui/details.tsx';
import type { Webhook } from './webhook-events.ts';

/** The secret of a webhook: masked until it is revealed or rotated. */
export function WebhookSecret({ webhook: { id, secret } }: { webhook: Webhook }) {
  const [whole, setWhole] = useState<string | null>(null);
  const reveal = useAction({
    work: () =>
      call(() => api.GET('/v1/my/webhooks/{id}', { params: { path: { id }, query: { reveal: 'true' } } })),
    refresh: [],
    onDone: (shown) => setWhole(shown.secret),
  });
  const rotate = useAction({
    work: (_, key) =>
      call(() =>
        api.POST('/v1/my/webhooks/{id}/rotate_secret', {
          params: { path: { id }, header: { 'Idempotency-Key': key } },
          body: {},
        }),
      ),
    done: 'The secret is rotated.',
    refresh: ['webhooks'],
    onDone: (shown) => setWhole(shown.secret),
  });
  return (
    <Card
      title="Signing secret"
      actions={
        <>
          {whole === null ? (
            <Button busy={reveal.busy} onClick={() => reveal.run()}>
              Reveal
            </Button>
          ) : (
            <Button onClick={() => setWhole(null)}>Hide</Button>
          )}
          <ConfirmButton
            label="Rotate"
            title="Rotate the secret?"
            confirm="Rotate secret"
            kind="secondary"
            busy={rotate.busy}
            onConfirm={() => rotate.run()}
          >
            <p>
              For 24 hours each request is signed with both secrets, so your server may use either. A second
              rotation within this time ends the oldest secret at once.
            </p>
          </ConfirmButton>
        </>
      }
    >
      {whole === null ? <code>{secret}</code> : <CodeBlock text={whole} />}
    </Card>
  );
}
