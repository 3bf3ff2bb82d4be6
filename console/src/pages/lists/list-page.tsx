import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, call, callPage, type Schemas } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { curlOf, EmptyState } from '../../ui/code.tsx';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { countText } from '../../ui/details.tsx';
import { BrandLink, useId, useOpen } from '../../ui/links.tsx';
import { PageHeader, Pager } from '../../ui/list-page.tsx';
import { useListSearch } from '../../ui/list-search.ts';
import { QueryView } from '../../ui/query-view.tsx';
import { useSelection } from '../../ui/selection.ts';
import { BulkActionMenu } from '../contacts/bulk-action-menu.tsx';
import { ContactTable } from '../contacts/contact-table.tsx';
import { ExportButton } from '../exports/export-button.tsx';
import { ListForm } from './list-form.tsx';
import { MembersDialog } from './members-dialog.tsx';

type ContactList = Schemas['ContactList'];

export function ListPage() {
  const id = useId('listId');
  const query = useQuery({
    queryKey: ['lists', id],
    queryFn: ({ signal }) => call(() => api.GET('/v1/my/lists/{id}', { params: { path: { id } }, signal })),
  });
  return (
    <QueryView query={query}>
      {(list) => (
        <>
          <PageHeader title={list.name} actions={<Actions list={list} />}>
            <p className="muted">
              {list.contacts_count === 1 ? '1 contact' : `${countText(list.contacts_count)} contacts`}
              {!list.visible && '. Not visible to contacts'}
              {list.description !== null && `. ${list.description}`}
            </p>
          </PageHeader>
          <Members listId={id} />
        </>
      )}
    </QueryView>
  );
}

function Actions({ list }: { list: ContactList }) {
  const open = useOpen();
  const [shown, setShown] = useState<'edit' | 'members' | null>(null);
  const close = () => setShown(null);
  const remove = useAction({
    work: () => call(() => api.DELETE('/v1/my/lists/{id}', { params: { path: { id: list.id } } })),
    done: 'List deleted. Its contacts stay.',
    refresh: [],
    onDone: () => open('/lists'),
  });
  return (
    <>
      <Button kind="primary" onClick={() => setShown('members')}>
        Add or remove addresses
      </Button>
      <Button onClick={() => setShown('edit')}>Edit</Button>
      <ConfirmButton
        label="Delete"
        title={`Delete the list ${list.name}?`}
        busy={remove.busy}
        onConfirm={() => remove.run()}
      >
        <p>Its contacts stay. The list cannot be restored.</p>
      </ConfirmButton>
      <Dialog open={shown === 'edit'} onClose={close} title="Edit the list">
        <ListForm list={list} onDone={close} onCancel={close} />
      </Dialog>
      <Dialog open={shown === 'members'} onClose={close} title="Add or remove addresses" wide>
        <MembersDialog listId={list.id} onClose={close} />
      </Dialog>
    </>
  );
}

function Members({ listId }: { listId: number }) {
  const list = useListSearch([]);
  const { selected, change } = useSelection(String(listId));
  const filter = { list_id: String(listId) };
  const query = useQuery({
    queryKey: ['contacts', { ...list.query, list_id: listId }],
    queryFn: ({ signal }) =>
      callPage(() =>
        api.GET('/v1/my/contacts', { params: { query: { ...list.query, list_id: listId } }, signal }),
      ),
    placeholderData: keepPreviousData,
  });
  return (
    <>
      <div className="actions">
        <BulkActionMenu
          filter={filter}
          selectedIds={[...selected].map(Number)}
          everyone="all in the list"
          onStarted={() => change(new Set())}
        />
        <ExportButton resource="contacts" filters={filter} />
        <BrandLink to="/contacts" search={filter}>
          Filter these contacts
        </BrandLink>
      </div>
      <QueryView query={query}>
        {({ rows }) => (
          <ContactTable
            label="Contacts of the list"
            rows={rows}
            selection={{ selected, change }}
            empty={<NoMembers listId={listId} />}
          />
        )}
      </QueryView>
      <Pager list={list} page={query.data} />
    </>
  );
}

function NoMembers({ listId }: { listId: number }) {
  return (
    <EmptyState
      title="Nobody is in this list"
      curl={curlOf('POST', `/v1/my/lists/${listId}/contacts/bulk`, { add: ['ada@example.com'] })}
    >
      <p>
        Add addresses above, <BrandLink to="/imports/new">import a file</BrandLink> into the list, or filter
        the <BrandLink to="/contacts">contacts</BrandLink> and add all that match.
      </p>
    </EmptyState>
  );
}
