import { api, call, type Schemas } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { useOpen } from '../../ui/links.tsx';

/** Exports what a list shows. @param filters those of the list, as in its URL */
export function ExportButton({
  resource,
  filters,
}: {
  resource: Schemas['Export']['resource'];
  filters: Record<string, string>;
}) {
  const open = useOpen();
  const create = useAction({
    work: (_, key) =>
      call(() =>
        api.POST('/v1/my/exports', {
          params: { header: { 'Idempotency-Key': key } },
          body: { resource, filters },
        }),
      ),
    refresh: ['exports'],
    onDone: ({ id }) => open(`/exports/${id}`),
  });
  return (
    <Button busy={create.busy} onClick={() => create.run()}>
      Export
    </Button>
  );
}
