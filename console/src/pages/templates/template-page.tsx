import { useQuery } from '@tanstack/react-query';
import { api, call, callPage, type Schemas } from '../../api/client.ts';
import { CodeBlock, JsonBlock } from '../../ui/code.tsx';
import { Card, DetailList, Time } from '../../ui/details.tsx';
import { useId } from '../../ui/links.tsx';
import { PageHeader, Pager } from '../../ui/list-page.tsx';
import { useListSearch } from '../../ui/list-search.ts';
import { QueryView } from '../../ui/query-view.tsx';
import { DataTable, type TableColumn } from '../../ui/table.tsx';
import { OwnerLink, templateName } from './owner-link.tsx';
import { PreviewPanel, ProblemList } from './preview-panel.tsx';
import { TemplateActions } from './template-actions.tsx';

type Template = Schemas['Template'];

export function TemplatePage() {
  const id = useId('templateId');
  const query = useQuery({
    queryKey: ['templates', id],
    queryFn: ({ signal }) =>
      call(() => api.GET('/v1/my/templates/{id}', { params: { path: { id } }, signal })),
  });
  return (
    <QueryView query={query}>
      {(template) => (
        <>
          <PageHeader title={templateName(template)} actions={<TemplateActions template={template} />}>
            <span className="muted">
              {template.channel} template {template.id}
            </span>
          </PageHeader>
          <PreviewPanel
            of={{ template_id: id }}
            template={template}
            title={`Preview of ${templateName(template)}`}
          />
          <TemplateFacts template={template} />
          <Checked template={template} />
          <Source template={template} />
          <Versions id={id} />
        </>
      )}
    </QueryView>
  );
}

function TemplateFacts({ template }: { template: Template }) {
  return (
    <Card title="DetailList">
      <DetailList
        items={[
          ['Subject', template.subject],
          ['Preheader', template.preheader],
          ['From', [template.from_name, template.from_email].filter(Boolean).join(' · ')],
          ['Reply to', template.reply_to],
          ['Used by', <OwnerLink key="owner" template={template} />],
          ['Created', <Time key="created" at={template.created_at} full />],
          ['Changed', <Time key="changed" at={template.updated_at} full />],
        ]}
      />
    </Card>
  );
}

/** What a send would refuse, and what could be better. */
function Checked({ template: { id, revision, design } }: { template: Template }) {
  const query = useQuery({
    queryKey: ['templates', id, 'check', revision],
    queryFn: ({ signal }) =>
      call(() => api.GET('/v1/my/templates/{id}/check', { params: { path: { id } }, signal })),
  });
  return (
    <Card title="Check">
      <QueryView query={query}>
        {({ problems }) =>
          problems.length === 0 ? (
            <p>Nothing to improve.</p>
          ) : (
            <ProblemList problems={problems} design={design} />
          )
        }
      </QueryView>
    </Card>
  );
}

/** The content as it is stored. It is shown as text, never as a page. */
function Source({ template }: { template: Template }) {
  const { body, design, content_from: from, variables } = template;
  return (
    <Card title="Source">
      {from === 'design' && design ? (
        <JsonBlock value={design} label="Design" />
      ) : (
        <CodeBlock text={body ?? ''} label="Body" />
      )}
      {Object.keys(variables).length > 0 && <JsonBlock value={variables} label="Variables with samples" />}
    </Card>
  );
}

const VERSIONS: readonly TableColumn<Schemas['TemplateVersion']>[] = [
  { key: 'id', header: 'Version', cell: ({ id }) => id },
  { key: 'subject', header: 'Subject', cell: ({ subject }) => subject ?? <span className="muted">–</span> },
  {
    key: 'from',
    header: 'From',
    wideOnly: true,
    cell: ({ from_email: from }) => from ?? <span className="muted">–</span>,
  },
  { key: 'pinned', header: 'First used', cell: ({ created_at: at }) => <Time at={at} /> },
];

function Versions({ id }: { id: number }) {
  const list = useListSearch([]);
  const query = useQuery({
    queryKey: ['templates', id, 'versions', list.query],
    queryFn: ({ signal }) =>
      callPage(() =>
        api.GET('/v1/my/templates/{id}/versions', { params: { path: { id }, query: list.query }, signal }),
      ),
  });
  return (
    <Card title="Versions">
      <p className="muted">What messages were made from, as it was when they were made.</p>
      <QueryView query={query}>
        {(page) => (
          <DataTable
            label="Versions"
            rows={page.rows}
            columns={VERSIONS}
            rowKey={(version) => version.id}
            empty={<p>No message has been made from it yet.</p>}
          />
        )}
      </QueryView>
      <Pager list={list} page={query.data} />
    </Card>
  );
}
