import { useQuery } from '@tanstack/react-query';
import { api, callPage, type Schemas } from '../../api/client.ts';
import { UnpublishedMark } from '../../editors/draft/unpublished.tsx';
import { curlOf, EmptyState } from '../../ui/code.tsx';
import { Time } from '../../ui/details.tsx';
import { BrandLink, useOpen } from '../../ui/links.tsx';
import { Filters, PageHeader, Pager, type Filter } from '../../ui/list-page.tsx';
import { useListSearch } from '../../ui/list-search.ts';
import { QueryView } from '../../ui/query-view.tsx';
import { DataTable, type TableColumn } from '../../ui/table.tsx';
import { NewTemplate } from './new-template.tsx';
import { OwnerLink, templateName } from './owner-link.tsx';

type Template = Schemas['TemplateSummary'];

const FILTERS: readonly Filter[] = [
  { name: 'name', label: 'Name', type: 'search' },
  { name: 'channel', label: 'Channel', options: ['email', 'sms'] },
  {
    name: 'owner',
    label: 'Include those of campaigns and flows',
    options: [{ value: 'all', label: 'Yes' }],
  },
  { name: 'created_after', label: 'Created after', type: 'date' },
  { name: 'created_before', label: 'Created before', type: 'date' },
];

const COLUMNS: readonly TableColumn<Template>[] = [
  {
    key: 'name',
    header: 'Name',
    cell: (template) => (
      <>
        <BrandLink to={`/templates/${template.id}`}>{templateName(template)}</BrandLink>
        <UnpublishedMark kind="templates" id={template.id} />
      </>
    ),
  },
  { key: 'subject', header: 'Subject', cell: ({ subject }) => subject ?? <span className="muted">–</span> },
  { key: 'channel', header: 'Channel', wideOnly: true, cell: ({ channel }) => channel },
  {
    key: 'owner',
    header: 'Used by',
    wideOnly: true,
    cell: (template) => <OwnerLink template={template} />,
  },
  { key: 'changed', header: 'Changed', cell: ({ updated_at: at }) => <Time at={at} /> },
];

export function TemplatesPage() {
  const list = useListSearch(FILTERS.map(({ name }) => name));
  const open = useOpen();
  const query = useQuery({
    queryKey: ['templates', list.query],
    queryFn: ({ signal }) =>
      callPage(() =>
        api.GET('/v1/my/templates', { params: { query: { ...list.query, summary: 'true' } }, signal }),
      ),
  });
  return (
    <>
      <PageHeader title="Templates" actions={<NewTemplate />} />
      <Filters filters={FILTERS} list={list} />
      <QueryView query={query}>
        {(page) => (
          <DataTable
            label="Templates"
            rows={page.rows}
            columns={COLUMNS}
            rowKey={({ id }) => id}
            onOpen={({ id }) => open(`/templates/${id}`)}
            empty={<NoTemplates />}
          />
        )}
      </QueryView>
      <Pager list={list} page={query.data} />
    </>
  );
}

const NoTemplates = () => (
  <EmptyState
    title="No templates here"
    curl={curlOf('POST', '/v1/my/templates', {
      name: 'Welcome',
      subject: 'Hi {{ contact.first_name }}',
      body: '<p>Welcome, {{ contact.first_name }}.</p>',
    })}
  >
    <p>
      A template is the content of an email or SMS. Messages, campaigns and flows use it, and it takes the
      name and data of each contact. A new one begins with a design, or with a text.
    </p>
  </EmptyState>
);
