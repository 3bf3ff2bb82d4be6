import { api, call } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { useOpen } from '../../ui/links.tsx';

/** Creates an empty draft and opens its editor, where everything else is set, including its name. */
export function NewFlow() {
  const open = useOpen();
  const { run, busy } = useAction({
    work: (_, key) =>
      call(() =>
        api.POST('/v1/my/flows', {
          params: { header: { 'Idempotency-Key': key } },
          body: { name: 'New flow', status: 'draft' },
        }),
      ),
    refresh: ['flows'],
    onDone: ({ id }) => open(`/flows/${id}/edit`),
  });
  return (
    <Button kind="primary" busy={busy} onClick={() => run()}>
      New flow
    </Button>
  );
}
