import { useQuery } from '@tanstack/react-query';
import { api, callPage, type Schemas } from '../../api/client.ts';
import { CodeBlock, curlOf } from '../../ui/code.tsx';
import { StatusBadge, Time } from '../../ui/facts.tsx';
import { BrandLink, useOpen } from '../../ui/links.tsx';
import { Filters, Pager, type Filter } from '../../ui/list-page.tsx';
import { useListSearch } from '../../ui/list-search.ts';
import { QueryView } from '../../ui/query-view.tsx';
import { DataTable, type TableColumn } from '../../ui/table.tsx';
import { FlowFrame, type Flow } from './flow-frame.tsx';
import { runText } from './run-text.ts';
import { findStep, stepTitle } from './step-text.ts';

type Run = Schemas['FlowRunSummary'];

const RUNS_POLL_MS = 5_000;

const FILTERS: readonly Filter[] = [
  { name: 'state', label: 'State', options: ['active', 'completed', 'exited', 'canceled'] },
  { name: 'step_id', label: 'At step', type: 'number' },
  { name: 'contact_id', label: 'Contact id', type: 'number' },
  { name: 'version', label: 'Version', type: 'number' },
  { name: 'created_after', label: 'Entered after', type: 'date' },
  { name: 'created_before', label: 'Entered before', type: 'date' },
];

const columnsOf = (flow: Flow): readonly TableColumn<Run>[] => [
  { key: 'run', header: 'Run', cell: ({ id }) => <BrandLink to={`/flow-runs/${id}`}>Run {id}</BrandLink> },
  {
    key: 'contact',
    header: 'Contact',
    cell: ({ contact_id: id }) => <BrandLink to={`/contacts/${id}`}>{id}</BrandLink>,
  },
  {
    key: 'state',
    header: 'State',
    cell: ({ state, test }) => (
      <>
        <StatusBadge status={state} /> {test && <span className="muted">test</span>}
      </>
    ),
  },
  {
    key: 'step',
    header: 'At step',
    cell: ({ step_id: id }) => {
      if (id === null) return <span className="muted">–</span>;
      const step = findStep(flow.steps, id);
      return step ? `${id}: ${stepTitle(step)}` : id;
    },
  },
  { key: 'reason', header: 'Waits for, or why it ended', cell: runText },
  { key: 'version', header: 'Version', align: 'right', wideOnly: true, cell: ({ version }) => version },
  { key: 'due', header: 'Due', wideOnly: true, cell: ({ due_at: at }) => <Time at={at} /> },
  { key: 'entered', header: 'Entered', wideOnly: true, cell: ({ created_at: at }) => <Time at={at} /> },
];

export const FlowRunsPage = () => <FlowFrame>{(flow) => <Runs flow={flow} />}</FlowFrame>;

function Runs({ flow }: { flow: Flow }) {
  const { id } = flow;
  const list = useListSearch(FILTERS.map(({ name }) => name));
  const open = useOpen();
  const query = useQuery({
    queryKey: ['flow_runs', id, list.query],
    queryFn: ({ signal }) =>
      callPage(() =>
        api.GET('/v1/my/flows/{id}/runs', { params: { path: { id }, query: list.query }, signal }),
      ),
    refetchInterval: RUNS_POLL_MS,
  });
  return (
    <>
      <Filters filters={FILTERS} list={list} />
      <QueryView query={query}>
        {(page) => (
          <DataTable
            label="Runs"
            rows={page.rows}
            columns={columnsOf(flow)}
            rowKey={(run) => run.id}
            onOpen={(run) => open(`/flow-runs/${run.id}`)}
            empty={<NoRuns flow={flow} />}
          />
        )}
      </QueryView>
      <Pager list={list} page={query.data} />
    </>
  );
}

/** How a contact enters the flow. */
function NoRuns({ flow: { id, trigger } }: { flow: Flow }) {
  const [path, body] =
    trigger.event === null
      ? [`/v1/my/flows/${id}/enter`, { contact_ids: [1] }]
      : ['/v1/my/events', { event: trigger.event, contact_email: 'ada@example.com', data: {} }];
  return (
    <>
      <p>No run matches. A run begins when a contact enters the flow, which can be done by the API:</p>
      <CodeBlock text={curlOf('POST', path, body)} label="Let a contact enter" />
    </>
  );
}
