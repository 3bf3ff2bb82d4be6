import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useListChoices } from '../../api/audience.ts';
import { api, call, type Schemas } from '../../api/client.ts';
import { POLL_MS } from '../../api/query-client.ts';
import { isUnfinished } from '../../api/work.ts';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { countText } from '../../ui/details.tsx';
import { Field, Select, TextInput } from '../../ui/field.tsx';
import { useOpen } from '../../ui/links.tsx';
import { Notice } from '../../ui/notice.tsx';
import { actionTexts, type BulkKind } from './bulk-action-text.ts';

type BulkAction = Schemas['BulkAction'];
interface Wish {
  action: BulkKind;
  filter: Schemas['BulkFilter'];
  list_id?: number;
}

/** From here on, the number must be typed before contacts are deleted. */
const TYPED_FROM = 2;

const post = (body: Wish & { dry_run: boolean }, key: string) =>
  call(() =>
    api.POST('/v1/my/contacts/bulk_actions', { params: { header: { 'Idempotency-Key': key } }, body }),
  );

/** First counts the contacts that the action would change; only then can it be started. */
export function BulkActionDialog({
  kind,
  filter,
  onStarted,
  onCancel,
}: {
  kind: BulkKind;
  filter: Schemas['BulkFilter'];
  onStarted: () => void;
  onCancel: () => void;
}) {
  const lists = useListChoices();
  const [listId, setListId] = useState('');
  const [wish, setWish] = useState<Wish | null>(null);
  const { effect, needsList } = actionTexts[kind];
  const count = useAction({
    work: (next: Wish, key) => post({ ...next, dry_run: true }, key),
    refresh: [],
    fields: ['list_id'],
    onDone: (_, next) => setWish(next),
  });
  const next: Wish = { action: kind, filter, ...(needsList ? { list_id: Number(listId) } : {}) };
  return (
    <>
      <p>{effect}</p>
      {needsList && (
        <Field label="List" error={count.errorOf('list_id')}>
          <Select
            value={listId}
            options={[{ value: '', label: 'Choose a list' }, ...lists]}
            onChange={(event) => {
              setListId(event.target.value);
              setWish(null);
            }}
          />
        </Field>
      )}
      {count.fault !== null && <Notice tone="bad">{count.fault}</Notice>}
      {wish && count.result ? (
        <Counted dryRun={count.result} wish={wish} onStarted={onStarted} onCancel={onCancel} />
      ) : (
        <div className="actions">
          <Button
            kind="primary"
            busy={count.busy}
            disabled={needsList && listId === ''}
            onClick={() => count.run(next)}
          >
            Count the contacts
          </Button>
          <Button onClick={onCancel}>Cancel</Button>
        </div>
      )}
    </>
  );
}

function Counted({
  dryRun,
  wish,
  onStarted,
  onCancel,
}: {
  dryRun: BulkAction;
  wish: Wish;
  onStarted: () => void;
  onCancel: () => void;
}) {
  const open = useOpen();
  const counting = useQuery({
    queryKey: ['bulk_actions', dryRun.id],
    queryFn: ({ signal }) =>
      call(() =>
        api.GET('/v1/my/contacts/bulk_actions/{id}', { params: { path: { id: dryRun.id } }, signal }),
      ),
    initialData: dryRun,
    refetchInterval: (query) => (isUnfinished(query.state.data) ? POLL_MS : false),
  });
  const start = useAction({
    work: (_, key) => post({ ...wish, dry_run: false }, key),
    fields: [],
    onDone: ({ id }) => {
      onStarted();
      open(`/bulk-actions/${id}`);
    },
  });
  const { status, total_count: total } = counting.data;
  if (isUnfinished(counting.data))
    return (
      <p role="status">{status === 'queued' ? 'Waiting for an earlier bulk action to end…' : 'Counting…'}</p>
    );
  if (status !== 'completed' || total === null)
    return <Notice tone="bad">The contacts could not be counted: {counting.data.error ?? status}.</Notice>;
  return (
    <>
      {start.fault !== null && <Notice tone="bad">{start.fault}</Notice>}
      <Confirmation
        kind={wish.action}
        total={total}
        busy={start.busy}
        onConfirm={() => start.run()}
        onCancel={onCancel}
      />
    </>
  );
}

function Confirmation({
  kind,
  total,
  busy,
  onConfirm,
  onCancel,
}: {
  kind: BulkKind;
  total: number;
  busy: boolean;
  onConfirm: () => void;
  onCancel: () => void;
}) {
  const [typed, setTyped] = useState('');
  const mustType = kind === 'delete' && total >= TYPED_FROM;
  const isDanger = kind === 'delete' || kind === 'unsubscribe';
  const contacts = total === 1 ? '1 contact' : `${countText(total)} contacts`;
  return (
    <>
      <p role="status">
        <strong>{contacts}</strong> {total === 1 ? 'matches' : 'match'}.
        {total > 0 && ' The action goes on if you close this tab, and can be canceled while it runs.'}
      </p>
      {mustType && (
        <Field label={`Type ${total} to delete ${contacts}`}>
          <TextInput inputMode="numeric" value={typed} onChange={(event) => setTyped(event.target.value)} />
        </Field>
      )}
      <div className="actions">
        <Button
          kind={isDanger ? 'danger' : 'primary'}
          busy={busy}
          disabled={total === 0 || (mustType && typed.trim() !== String(total))}
          onClick={onConfirm}
        >
          {actionTexts[kind].label}: {contacts}
        </Button>
        <Button onClick={onCancel}>Cancel</Button>
      </div>
    </>
  );
}
