import { useQuery } from '@tanstack/react-query';
import { api, call, callPage, type Schemas } from '../../api/client.ts';
import { useBrand } from '../../shell/brand.ts';
import { useAction } from '../../ui/action.ts';
import { CodeBlock } from '../../ui/code.tsx';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { Card, Time } from '../../ui/details.tsx';
import { BrandLink } from '../../ui/links.tsx';
import { PageHeader, Pager } from '../../ui/list-page.tsx';
import { useListSearch } from '../../ui/list-search.ts';
import { QueryView } from '../../ui/query-view.tsx';
import { DataTable, type TableColumn } from '../../ui/table.tsx';
import { McpTabs } from './mcp-tabs.tsx';

/** The assistants that may use the account, and how to connect one. */
export function McpPage() {
  const list = useListSearch([]);
  const { role } = useBrand();
  const grants = useQuery({
    queryKey: ['mcp_grants', list.query],
    queryFn: ({ signal }) =>
      callPage(() => api.GET('/v1/my/mcp_grants', { params: { query: list.query }, signal })),
  });
  return (
    <>
      <PageHeader title="Assistants">
        <p className="muted">
          {role === 'owner'
            ? 'Programs that users of the account have connected by the Model Context Protocol (MCP).'
            : 'Programs that you have connected by the Model Context Protocol (MCP).'}
        </p>
      </PageHeader>
      <McpTabs />
      <QueryView query={grants}>
        {(page) => (
          <>
            <DataTable
              label="Assistants"
              rows={page.rows}
              columns={role === 'owner' ? [...COLUMNS, CALLS, ACTIONS] : [...COLUMNS, ACTIONS]}
              rowKey={({ id }) => id}
              empty={<p className="muted">No assistant is connected.</p>}
            />
            <Pager list={list} page={page} />
          </>
        )}
      </QueryView>
      <ConnectCard />
    </>
  );
}

function ConnectCard() {
  const url = `${globalThis.location.origin}/mcp`;
  return (
    <Card title="Connect an assistant">
      <ol>
        <li>In your assistant, add a remote MCP server, which many call a connector, with this URL.</li>
        <li>It opens a page of this service. Sign in, and tick the brands and what it may do.</li>
        <li>Ask it something, such as “why did Ada not get her receipt?”</li>
      </ol>
      <CodeBlock text={url} label="URL" />
      <p>
        There is no key to paste. A program that cannot open URLs by itself needs a bridge, which starts on
        your machine:
      </p>
      <CodeBlock text={`npx mcp-remote ${url}`} label="Bridge" />
      <p className="muted">
        You can end its access on this page. It also ends if your password changes, or if it is not used for
        30 days. Mail from strangers may contain instructions to an assistant: let it read the inbox and send
        only if you watch it.
      </p>
    </Card>
  );
}

type Grant = Schemas['McpGrant'];

const SCOPES: Record<Grant['scopes'][number], string> = {
  'mcp:read': 'read',
  'mcp:write': 'change',
  'mcp:send': 'send',
  'mcp:inbox': 'read the inbox',
};

const COLUMNS: readonly TableColumn<Grant>[] = [
  {
    key: 'client_name',
    header: 'Assistant',
    width: '16rem',
    cell: ({ client_name: name, client_host: host, redirect_host: returnHost }) => (
      <>
        {name}
        <div className="muted">{host ?? `returns to ${returnHost}`}</div>
      </>
    ),
  },
  { key: 'user_email', header: 'User', cell: (grant) => grant.user_email },
  { key: 'scopes', header: 'May', cell: ({ scopes }) => scopes.map((scope) => SCOPES[scope]).join(', ') },
  {
    key: 'brand_ids',
    header: 'Brands',
    cell: ({ brand_ids: ids }) => <BrandNames ids={ids} />,
    wideOnly: true,
  },
  { key: 'last_used_at', header: 'Last used', cell: (grant) => <Time at={grant.last_used_at} /> },
  { key: 'created_at', header: 'Connected', cell: (grant) => <Time at={grant.created_at} />, wideOnly: true },
  { key: 'expires_at', header: 'Ends', cell: (grant) => <Time at={grant.expires_at} />, wideOnly: true },
];

const CALLS: TableColumn<Grant> = {
  key: 'calls',
  header: 'Calls',
  cell: ({ id }) => (
    <BrandLink to="/mcp/calls" search={{ grant_id: String(id) }}>
      Show
    </BrandLink>
  ),
};

const ACTIONS: TableColumn<Grant> = {
  key: 'actions',
  header: 'Actions',
  cell: (grant) => <EndButton grant={grant} />,
};

function BrandNames({ ids }: { ids: readonly number[] }) {
  const { brands } = useBrand().account;
  const nameOf = (id: number) => brands.find((brand) => brand.id === id)?.company_name || `Brand ${id}`;
  return <>{ids.length === 0 ? '–' : ids.map(nameOf).join(', ')}</>;
}

function EndButton({ grant }: { grant: Grant }) {
  const end = useAction({
    work: () => call(() => api.DELETE('/v1/my/mcp_grants/{id}', { params: { path: { id: grant.id } } })),
    done: `${grant.client_name} is disconnected.`,
    refresh: ['mcp_grants'],
  });
  return (
    <ConfirmButton
      label="Disconnect"
      title={`Disconnect ${grant.client_name}?`}
      busy={end.busy}
      onConfirm={() => end.run()}
    >
      <p>Its next call is refused. To use it again, {grant.user_email} must connect it again.</p>
    </ConfirmButton>
  );
}
