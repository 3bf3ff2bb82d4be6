import { useQuery } from '@tanstack/react-query';
import { useAudienceNames } from '../../api/audience.ts';
import type { AudienceNames } from '../../api/choices.ts';
import { api, callPage, type Schemas } from '../../api/client.ts';
import { CodeBlock, curlOf } from '../../ui/code.tsx';
import { StatusBadge, Time } from '../../ui/details.tsx';
import { BrandLink, useOpen } from '../../ui/links.tsx';
import { Filters, Pager, type Filter } from '../../ui/list-page.tsx';
import { useListSearch } from '../../ui/list-search.ts';
import { QueryView } from '../../ui/query-view.tsx';
import { DataTable, type TableColumn } from '../../ui/table.tsx';
import { allSteps, type Step } from './editor/model.ts';
import { stepLine } from './editor/texts.ts';
import { FlowFrame, useStepsOfVersions, type Flow } from './flow-frame.tsx';
import { RunContact } from './run-contact.tsx';
import { runText } from './run-text.ts';
import { StepName } from './step-name.tsx';
import type { FlowStep } from './step-text.ts';

type Run = Schemas['FlowRunSummary'];

const RUNS_POLL_MS = 5_000;

/** A text such as the body of an SMS would widen the choice of steps. */
const MAX_LABEL = 80;

const filtersOf = (steps: readonly Step[], names: AudienceNames): readonly Filter[] => [
  { name: 'state', label: 'State', options: ['active', 'completed', 'exited', 'canceled'] },
  {
    name: 'step_id',
    label: 'At step',
    options: allSteps(steps).map(({ step }) => ({
      value: String(step.id),
      label: stepLine(step, names).slice(0, MAX_LABEL),
    })),
  },
  { name: 'contact_id', label: 'Contact id', type: 'number' },
  { name: 'version', label: 'Version', type: 'number' },
  { name: 'cohort', label: 'Cohort', type: 'number' },
  { name: 'created_after', label: 'Entered after', type: 'date' },
  { name: 'created_before', label: 'Entered before', type: 'date' },
];

const columnsOf = (
  stepsOf: (run: Run) => readonly FlowStep[],
  names: AudienceNames,
): readonly TableColumn<Run>[] => [
  { key: 'run', header: 'Run', cell: ({ id }) => <BrandLink to={`/flow-runs/${id}`}>Run {id}</BrandLink> },
  {
    key: 'contact',
    header: 'Contact',
    cell: (run) => <RunContact run={run} />,
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
    cell: (run) =>
      run.step_id === null ? (
        <span className="muted">–</span>
      ) : (
        <StepName id={run.step_id} steps={stepsOf(run)} names={names} />
      ),
  },
  { key: 'reason', header: 'Waits for, or why it ended', cell: runText },
  { key: 'version', header: 'Version', align: 'right', wideOnly: true, cell: ({ version }) => version },
  { key: 'due', header: 'Due', wideOnly: true, cell: ({ due_at: at }) => <Time at={at} /> },
  { key: 'entered', header: 'Entered', wideOnly: true, cell: ({ created_at: at }) => <Time at={at} /> },
];

export const FlowRunsPage = () => <FlowFrame>{(flow) => <Runs flow={flow} />}</FlowFrame>;

function Runs({ flow }: { flow: Flow }) {
  const { id } = flow;
  const names = useAudienceNames();
  const filters = filtersOf(flow.steps, names);
  const list = useListSearch(filters.map(({ name }) => name));
  const open = useOpen();
  const query = useQuery({
    queryKey: ['flow_runs', id, list.query],
    queryFn: ({ signal }) =>
      callPage(() =>
        api.GET('/v1/my/flows/{id}/runs', { params: { path: { id }, query: list.query }, signal }),
      ),
    refetchInterval: RUNS_POLL_MS,
  });
  const versions = (query.data?.rows ?? []).flatMap(({ step_id: step, version }) =>
    step === null || version === null ? [] : [version],
  );
  const stepsOfVersions = useStepsOfVersions(id, [...new Set(versions)]);
  const stepsOf = ({ version }: Run) => stepsOfVersions.get(version ?? 0) ?? flow.steps;
  return (
    <>
      <Filters filters={filters} list={list} />
      <QueryView query={query}>
        {(page) => (
          <DataTable
            label="Runs"
            rows={page.rows}
            columns={columnsOf(stepsOf, names)}
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
