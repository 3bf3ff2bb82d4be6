import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, call, callPage, type Schemas } from '../../api/client.ts';
import { POLL_MS } from '../../api/query-client.ts';
import { useAction } from '../../ui/action.ts';
import { ActionForm } from '../../ui/action-form.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { useDownload } from '../../ui/download.ts';
import { countText } from '../../ui/details.tsx';
import { Field, TextInput } from '../../ui/field.tsx';
import { formText } from '../../ui/form.ts';
import { BrandLink } from '../../ui/links.tsx';
import type { ListState } from '../../ui/list-search.ts';
import type { Campaign } from './campaign-frame.tsx';

type Fill = Schemas['CampaignListFill'];

/** What can be done with all recipients that match the filters, over all pages. */
export function RecipientActions(props: { campaign: Campaign; list: ListState; count: number }) {
  const { campaign, list, count } = props;
  const [open, setOpen] = useState(false);
  if (count === 0) return null;
  // A list can be filled by everything but the status of the message.
  const allowed = list.search.status === undefined;
  return (
    <div className="actions">
      <Button disabled={!allowed} onClick={() => setOpen(true)}>
        Add all to a list
      </Button>
      {!allowed && <span className="muted">Clear the filter “Status of the message” to add to a list.</span>}
      <DownloadButton campaign={campaign} list={list} />
      <Fills campaign={campaign} />
      {open && <AddToListDialog {...props} onClose={() => setOpen(false)} />}
    </div>
  );
}

function DownloadButton({ campaign: { id }, list }: { campaign: Campaign; list: ListState }) {
  const { page: _page, limit: _limit, ...filters } = list.query;
  const { run, busy } = useDownload(`campaign-${id}-recipients.csv`, () =>
    api.GET('/v1/my/campaigns/{id}/recipients', {
      params: { path: { id }, query: { ...filters, format: 'csv' } },
      parseAs: 'blob',
    }),
  );
  return (
    <Button busy={busy} onClick={() => run()}>
      Download as CSV
    </Button>
  );
}

function filtersOf({ state, reason, opened, clicked }: ListState['search']) {
  const given = {
    state,
    reason,
    opened: opened && opened === 'true',
    clicked: clicked && clicked === 'true',
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

function AddToListDialog({
  campaign: { id },
  list,
  count,
  onClose,
}: {
  campaign: Campaign;
  list: ListState;
  count: number;
  onClose: () => void;
}) {
  const action = useAction({
    work: (name: string, key) =>
      call(() =>
        api.POST('/v1/my/campaigns/{id}/recipients/to_list', {
          params: { path: { id }, header: { 'Idempotency-Key': key } },
          body: { name, ...filtersOf(list.search) },
        }),
      ),
    done: 'The list is being filled. This goes on when you close the page.',
    refresh: ['campaigns', 'lists'],
    fields: ['name'],
    onDone: onClose,
  });
  const submit = (form: FormData) => action.run(formText(form, 'name'));
  return (
    <Dialog open onClose={onClose} title={`Add ${countText(count)} recipients to a list`}>
      <ActionForm
        action={action}
        kept={null}
        onSubmit={submit}
        submit="Create the list"
        close={{ label: 'Close', onClick: onClose }}
      >
        <Field label="Name of the new list" error={action.errorOf('name')}>
          <TextInput name="name" required autoFocus />
        </Field>
      </ActionForm>
    </Dialog>
  );
}

const isRunning = ({ status }: Fill) => status === 'running';

/** The lists that were made from the recipients, with their progress. */
function Fills({ campaign: { id } }: { campaign: Campaign }) {
  const { data } = useQuery({
    queryKey: ['campaigns', id, 'list-fills'],
    queryFn: ({ signal }) =>
      callPage(() =>
        api.GET('/v1/my/campaigns/{id}/recipients/to_list', { params: { path: { id } }, signal }),
      ),
    refetchInterval: (query) => (query.state.data?.rows.some(isRunning) === true ? POLL_MS : false),
  });
  return (
    <>
      {data?.rows.map((fill) => (
        <BrandLink key={fill.id} to={`/lists/${fill.list_id}`}>
          List {fill.list_id}: {countText(fill.added_count)} added
          {isRunning(fill) && ` of ${countText(fill.looked_at_count)} looked at`}
        </BrandLink>
      ))}
    </>
  );
}
