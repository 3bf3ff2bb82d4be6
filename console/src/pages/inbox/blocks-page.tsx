import { useQuery } from '@tanstack/react-query';
import { useMemo, type SubmitEvent } from 'react';
import { api, call, callPage, type Schemas } from '../../api/client.ts';
import { useBrand } from '../../shell/brand.ts';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { curlOf, EmptyState } from '../../ui/code.tsx';
import { Card, Time } from '../../ui/details.tsx';
import { Field, TextInput } from '../../ui/field.tsx';
import { formText } from '../../ui/form.ts';
import { type Kept, KeptForm, useKept } from '../../ui/kept-form.tsx';
import { PageHeader, Pager } from '../../ui/list-page.tsx';
import { useListSearch } from '../../ui/list-search.ts';
import { Notice } from '../../ui/notice.tsx';
import { QueryView } from '../../ui/query-view.tsx';
import { DataTable, type TableColumn } from '../../ui/table.tsx';
import { toast } from '../../ui/toasts.tsx';
import { InboxTabs } from './inbox-tabs.tsx';

type Block = Schemas['InboxBlock'];

const whoOf = ({ email, domain }: Pick<Block, 'email' | 'domain'>) => email ?? domain ?? '';
const bodyOf = (who: string) => (who.includes('@') ? { email: who } : { domain: who });

const columnsOf = (manages: boolean): readonly TableColumn<Block>[] => [
  { key: 'who', header: 'Sender', cell: whoOf },
  {
    key: 'kind',
    header: 'Blocks',
    cell: ({ email }) => (email === null ? 'every address at the domain and below it' : 'this address'),
    wideOnly: true,
  },
  { key: 'created', header: 'Since', cell: ({ created_at: at }) => <Time at={at} /> },
  ...(manages
    ? [{ key: 'end', header: 'End', cell: (block: Block) => <EndBlock block={block} /> } as const]
    : []),
];

/** Senders whose mail goes to quarantine. */
export function BlocksPage() {
  const { manages } = useBrand();
  const list = useListSearch([]);
  const query = useQuery({
    queryKey: ['inbox_blocks', list.query],
    queryFn: ({ signal }) =>
      callPage(() => api.GET('/v1/my/inbox_blocks', { params: { query: list.query }, signal })),
  });
  const columns = useMemo(() => columnsOf(manages), [manages]);
  return (
    <>
      <PageHeader title="Blocked senders" />
      <InboxTabs />
      {manages && <BlockForm />}
      <QueryView query={query}>
        {({ rows }) => (
          <DataTable
            label="Blocked senders"
            rows={rows}
            columns={columns}
            rowKey={({ id }) => id}
            empty={
              <EmptyState
                title="Nobody is blocked"
                curl={curlOf('POST', '/v1/my/inbox_blocks', { domain: 'spam.example' })}
              >
                <p>Mail of a blocked address or domain goes to quarantine, for all inboxes of the brand.</p>
              </EmptyState>
            }
          />
        )}
      </QueryView>
      <Pager list={list} page={query.data} />
    </>
  );
}

function useBlock(kept?: Kept) {
  return useAction({
    work: (who: string, key) =>
      call(() =>
        api.POST('/v1/my/inbox_blocks', {
          params: { header: { 'Idempotency-Key': key } },
          body: bodyOf(who),
        }),
      ),
    done: (block) => `${whoOf(block)} is blocked.`,
    refresh: ['inbox_blocks'],
    fields: ['email', 'domain'],
    ...(kept && { kept }),
  });
}

function BlockForm() {
  const kept = useKept('inbox-block', { resets: true });
  const action = useBlock(kept);
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    action.run(formText(new FormData(event.currentTarget), 'who').trim());
  };
  return (
    <Card title="Block a sender">
      <KeptForm kept={kept} onSubmit={submit}>
        <Field
          label="Address or domain"
          hint="Mail that has already arrived stays where it is."
          error={[...action.errorOf('email'), ...action.errorOf('domain')]}
        >
          <TextInput
            name="who"
            required
            autoComplete="off"
            placeholder="someone@example.com or example.com"
          />
        </Field>
        {action.fault !== null && <Notice tone="bad">{action.fault}</Notice>}
        <div className="actions">
          <Button type="submit" kind="primary" busy={action.busy}>
            Block
          </Button>
        </div>
      </KeptForm>
    </Card>
  );
}

function EndBlock({ block }: { block: Block }) {
  const again = useBlock();
  const action = useAction({
    work: () => call(() => api.DELETE('/v1/my/inbox_blocks/{id}', { params: { path: { id: block.id } } })),
    refresh: ['inbox_blocks'],
    onDone: () =>
      toast(`${whoOf(block)} is no longer blocked.`, {
        undo: () => again.run(whoOf(block)),
      }),
  });
  return (
    <Button
      kind="quiet"
      busy={action.busy}
      aria-label={`Unblock ${whoOf(block)}`}
      onClick={() => action.run()}
    >
      Unblock
    </Button>
  );
}
