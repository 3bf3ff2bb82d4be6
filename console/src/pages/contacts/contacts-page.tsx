import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useAudienceNames } from '../../api/audience.ts';
import { api, callPage } from '../../api/client.ts';
import { Button } from '../../ui/button.tsx';
import { curlOf, EmptyState } from '../../ui/code.tsx';
import type { Row } from '../../ui/data-rows.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { BrandLink, TabLinks, useOpen } from '../../ui/links.tsx';
import { Filters, PageHeader, Pager, type Filter } from '../../ui/list-page.tsx';
import { useListSearch, type ListState } from '../../ui/list-search.ts';
import { QueryView } from '../../ui/query-view.tsx';
import { useSelection } from '../../ui/selection.ts';
import { ExportButton } from '../exports/export-button.tsx';
import { BulkActionMenu } from './bulk-action-menu.tsx';
import { ContactForm } from './contact-form.tsx';
import { ContactTable } from './contact-table.tsx';
import { contactTabs } from './contact-tabs.ts';

function useContactFilters(): readonly Filter[] {
  const { lists, segments } = useAudienceNames();
  return [
    { name: 'search', label: 'Name or start of address', type: 'search' },
    { name: 'list_id', label: 'List', options: lists },
    { name: 'segment_id', label: 'Segment', options: segments },
    {
      name: 'subscribed',
      label: 'Subscribed',
      options: [
        { value: 'true', label: 'Yes' },
        { value: 'false', label: 'No' },
      ],
    },
    { name: 'verification_status', label: 'Verification', options: ['verified', 'suppressed', 'unverified'] },
    { name: 'email', label: 'Exact email address', type: 'email' },
    { name: 'phone', label: 'Exact phone number' },
    { name: 'source', label: 'Source' },
    { name: 'created_after', label: 'Created after', type: 'date' },
    { name: 'created_before', label: 'Created before', type: 'date' },
  ];
}

export function ContactsPage() {
  const filters = useContactFilters();
  const list = useListSearch(filters.map(({ name }) => name));
  const { selected, change } = useSelection(JSON.stringify(list.filter));
  const isFiltered = Object.keys(list.filter).length > 0;
  const query = useQuery({
    queryKey: ['contacts', list.query],
    queryFn: ({ signal }) =>
      callPage(() => api.GET('/v1/my/contacts', { params: { query: list.query }, signal })),
    placeholderData: keepPreviousData,
  });
  return (
    <>
      <PageHeader
        title="Contacts"
        actions={
          <>
            <BulkActionMenu
              filter={list.filter}
              selectedIds={[...selected].map(Number)}
              everyone={isFiltered ? 'all that match' : 'all contacts'}
              onStarted={() => change(new Set())}
            />
            <ExportButton resource="contacts" filters={list.filter} />
            <NewContact list={list} />
          </>
        }
      />
      <TabLinks label="Contacts" tabs={contactTabs} />
      <Filters filters={filters} list={list} />
      <QueryView query={query}>
        {({ rows }) => (
          <ContactTable
            label="Contacts"
            rows={rows}
            selection={{ selected, change }}
            empty={isFiltered ? <p>No contact matches.</p> : <NoContacts />}
          />
        )}
      </QueryView>
      <Pager list={list} page={query.data} />
    </>
  );
}

/** Its form is also opened by the URL, as `?new=contact`. */
function NewContact({ list: { search, set } }: { list: ListState }) {
  const [creating, setCreating] = useState(false);
  const [{ count, rows }, setNext] = useState<{ count: number; rows: readonly Row[] }>(FIRST);
  const open = useOpen();
  const close = () => {
    setCreating(false);
    setNext(FIRST);
    if (search.new !== undefined) set({ new: undefined });
  };
  return (
    <>
      <Button kind="primary" onClick={() => setCreating(true)}>
        New contact
      </Button>
      <Dialog open={creating || search.new !== undefined} onClose={close} title="New contact">
        <ContactForm
          key={count}
          rows={rows}
          onDone={({ id }) => open(`/contacts/${id}`)}
          onAnother={(next) => setNext({ count: count + 1, rows: next })}
          onCancel={close}
        />
      </Dialog>
    </>
  );
}

const FIRST = { count: 0, rows: [] };

function NoContacts() {
  return (
    <EmptyState
      title="No contacts yet"
      curl={curlOf('POST', '/v1/my/contacts', {
        email: 'ada@example.com',
        first_name: 'Ada',
        data: { plan: 'pro' },
      })}
    >
      <p>
        The people you write to appear here, each with an email address, a phone number or both. Campaigns and
        flows go to contacts. <BrandLink to="/imports/new">Import a CSV file</BrandLink>, or create the first
        one above.
      </p>
    </EmptyState>
  );
}
