import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { api, callPage, type Schemas } from '../../api/client.ts';
import { useStoredDraft } from '../../editors/draft/stored-draft.ts';
import { Card, countText, StatusBadge, Time } from '../../ui/details.tsx';
import { Field, Select } from '../../ui/field.tsx';
import { BrandLink } from '../../ui/links.tsx';
import { Pager } from '../../ui/list-page.tsx';
import { useListSearch } from '../../ui/list-search.ts';
import { QueryView } from '../../ui/query-view.tsx';
import { DataTable, type TableColumn } from '../../ui/table.tsx';
import { ComparisonView, type Side } from './editor/comparison-view.tsx';
import type { FlowContent } from './editor/model.ts';
import { readDraft } from './editor/read-draft.ts';
import { FlowFrame, useFlowVersion, type Flow } from './flow-frame.tsx';

type Summary = Schemas['FlowVersionSummary'];

/** The numbers of runs change slowly. */
const VERSIONS_POLL_MS = 10_000;

const columnsOf = ({ id }: Flow): readonly TableColumn<Summary>[] => [
  { key: 'number', header: 'Version', cell: ({ number }) => `Version ${number}` },
  { key: 'state', header: 'State', cell: ({ state }) => <StatusBadge status={state} /> },
  {
    key: 'runs',
    header: 'Active runs',
    align: 'right',
    cell: ({ number, active_run_count: count }) => (
      <BrandLink to={`/flows/${id}/runs`} search={{ version: String(number), state: 'active' }}>
        {count === null ? 'too many to count' : countText(count)}
      </BrandLink>
    ),
  },
  {
    key: 'goal',
    header: 'Goal',
    wideOnly: true,
    cell: ({ goal }) => goal ?? <span className="muted">–</span>,
  },
  { key: 'created', header: 'Created', cell: ({ created_at: at }) => <Time at={at} /> },
];

export const FlowVersionsPage = () => <FlowFrame>{(flow) => <Versions flow={flow} />}</FlowFrame>;

function Versions({ flow }: { flow: Flow }) {
  const { id } = flow;
  const list = useListSearch([]);
  const query = useQuery({
    queryKey: ['flows', id, 'versions', list.query],
    queryFn: ({ signal }) =>
      callPage(() =>
        api.GET('/v1/my/flows/{id}/versions', { params: { path: { id }, query: list.query }, signal }),
      ),
    refetchInterval: flow.status === 'active' ? VERSIONS_POLL_MS : false,
  });
  return (
    <>
      <p className="muted">
        A run follows the version of its entry, unless a newer one was published with its runs moved to it.
        Letters and texts belong to no version: a changed one reaches every run that has not reached its step.
      </p>
      <QueryView query={query}>
        {(page) => (
          <>
            <DataTable
              label="Versions"
              rows={page.rows}
              columns={columnsOf(flow)}
              rowKey={(version) => version.id}
              empty={<p className="muted">Activating the flow creates its first version.</p>}
            />
            <Compare flow={flow} versions={page.rows} />
          </>
        )}
      </QueryView>
      <Pager list={list} page={query.data} />
    </>
  );
}

/** A side that is no version: the draft, by its name in the URL. */
const DRAFT = 'draft';

/** Two versions side by side, which the URL names, or the changes that are not published. */
function Compare({ flow, versions }: { flow: Flow; versions: readonly Summary[] }) {
  const { search, set } = useListSearch([]);
  const { data: stored } = useStoredDraft({ kind: 'flows', id: flow.id }, readDraft);
  const draft = stored?.content ?? null;
  const options = [
    ...(draft ? [{ value: DRAFT, label: 'Unpublished changes' }] : []),
    ...versions.map(({ number, state }) => ({
      value: String(number),
      label: `Version ${number} (${state})`,
    })),
  ];
  if (versions.length === 0 || options.length < 2) return null;
  // The newest two; the draft is the last choice.
  const [newest = '', second = DRAFT] = versions.map(({ number }) => String(number));
  const chosen = (given: string | undefined, usual: string) =>
    options.some(({ value }) => value === given) ? (given ?? usual) : usual;
  const left = chosen(search.left, second === DRAFT ? newest : second);
  const right = chosen(search.right, second === DRAFT ? DRAFT : newest);
  const choose = (name: 'left' | 'right', label: string, value: string) => (
    <Field label={label}>
      <Select value={value} options={options} onChange={({ target }) => set({ [name]: target.value })} />
    </Field>
  );
  const common = { id: flow.id, draft };
  return (
    <Card title="Side by side">
      <div className="filters versions-choice">
        {choose('left', 'Compare', left)}
        {choose('right', 'with', right)}
      </div>
      <ComparedSide {...common} value={left}>
        {(before) => (
          <ComparedSide {...common} value={right}>
            {(after) => <ComparisonView left={before} right={after} />}
          </ComparedSide>
        )}
      </ComparedSide>
    </Card>
  );
}

interface SideProps {
  id: number;
  draft: FlowContent | null;
  /** The number of a version, or {@link DRAFT}. */
  value: string;
  children: (side: Side) => ReactNode;
}

function ComparedSide(props: SideProps) {
  const { draft, value, children } = props;
  if (value !== DRAFT) return <VersionSide {...props} />;
  return draft && children({ title: 'Unpublished changes', flow: draft });
}

const VersionSide = ({ id, value, children }: SideProps) => (
  <QueryView query={useFlowVersion(id, Number(value))}>
    {(flow) => children({ title: `Version ${value}`, flow })}
  </QueryView>
);
