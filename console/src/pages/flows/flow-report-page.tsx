import { useAudienceNames } from '../../api/audience.ts';
import type { AudienceNames } from '../../api/choices.ts';
import type { Schemas } from '../../api/client.ts';
import { Card, countText, DetailList, shareText } from '../../ui/details.tsx';
import { BrandLink } from '../../ui/links.tsx';
import { Filters, type Filter } from '../../ui/list-page.tsx';
import { useListSearch } from '../../ui/list-search.ts';
import { QueryView } from '../../ui/query-view.tsx';
import { DataTable, type TableColumn } from '../../ui/table.tsx';
import { FlowFrame, useFlowReport, type Flow } from './flow-frame.tsx';
import { ResendUnknownButton } from './resend-unknown-button.tsx';
import { StepName } from './step-name.tsx';

type Report = Schemas['FlowReport'];
type StepReport = Report['steps'][number];

const FILTERS: readonly Filter[] = [
  { name: 'from', label: 'From (UTC)', type: 'date' },
  { name: 'to', label: 'To (UTC)', type: 'date' },
];

export const FlowReportPage = () => <FlowFrame>{(flow) => <FlowReport flow={flow} />}</FlowFrame>;

function FlowReport({ flow }: { flow: Flow }) {
  const list = useListSearch([]);
  const names = useAudienceNames();
  const { from, to } = list.search;
  const query = useFlowReport(flow, { ...(from ? { from } : {}), ...(to ? { to } : {}) });
  return (
    <>
      <Filters filters={FILTERS} list={list} />
      <QueryView query={query}>
        {(report) => (
          <>
            <Contacts report={report} />
            <Reasons report={report} />
            <Messages flow={flow} report={report} />
            <Card title="Steps">
              <DataTable
                label="Steps"
                rows={report.steps}
                columns={columnsOf(flow, names)}
                rowKey={({ step_id: id }) => id}
              />
            </Card>
          </>
        )}
      </QueryView>
    </>
  );
}

const total = (counts: Record<string, number>) =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);

function Figure({ name, count, rate }: { name: string; count: number | null; rate?: number | null }) {
  return (
    <div className="figure">
      <strong>{count === null ? 'many' : countText(count)}</strong>
      {name} {rate !== undefined && rate !== null && <span className="muted">{shareText(rate, 1)}</span>}
    </div>
  );
}

function Contacts({ report }: { report: Report }) {
  return (
    <Card title="Contacts">
      <div className="figures">
        <Figure name="entered" count={report.entered_count} />
        <Figure name="in progress" count={report.in_progress_count} />
        <Figure name="completed" count={report.completed_count} />
        <Figure name="reached the goal" count={report.goal_count} rate={report.goal_rate} />
        <Figure name="exited" count={total(report.exited)} />
        <Figure name="canceled" count={total(report.canceled)} />
        <Figure name="did not enter" count={total(report.not_entered)} />
      </div>
    </Card>
  );
}

/** Why contacts did not enter, or left before the end. */
function Reasons({ report: { not_entered: notEntered, exited, canceled } }: { report: Report }) {
  const items = [
    ...itemsOf('did not enter', notEntered),
    ...itemsOf('exited', exited),
    ...itemsOf('canceled', canceled),
  ];
  if (items.length === 0) return null;
  return (
    <Card title="Reasons">
      <DetailList items={items} />
    </Card>
  );
}

const itemsOf = (name: string, counts: Record<string, number>) =>
  Object.entries(counts).map(
    ([reason, count]) => [`${name}: ${reason.replaceAll('_', ' ')}`, countText(count)] as const,
  );

function Messages({ flow, report: { messages } }: { flow: Flow; report: Report }) {
  const { rates, unknown_count: unknown, resent_count: resent } = messages;
  return (
    <Card title="Messages">
      <div className="figures">
        <Figure name="sent" count={messages.sent_count} />
        <Figure name="delivered" count={messages.delivered_count} rate={rates.delivered} />
        <Figure name="opened" count={messages.opened_count} rate={rates.opened} />
        <Figure name="clicked" count={messages.clicked_count} rate={rates.clicked} />
        <Figure name="bounced" count={messages.bounced_count} rate={rates.bounced} />
        <Figure name="complained" count={messages.complained_count} rate={rates.complained} />
        <Figure name="failed" count={messages.failed_count} />
        <Figure name="skipped" count={messages.skipped_count} />
        {unknown > 0 && <Figure name="may have been lost" count={unknown} />}
        {resent > 0 && <Figure name="sent again, because they may have been lost" count={resent} />}
      </div>
      {unknown > 0 && flow.status === 'active' && <ResendUnknownButton flow={flow} count={unknown} />}
    </Card>
  );
}

const count = (
  header: string,
  value: (messages: NonNullable<StepReport['messages']>) => number,
): TableColumn<StepReport> => ({
  key: header,
  header,
  align: 'right',
  cell: ({ messages }) => (messages ? countText(value(messages)) : <span className="muted">–</span>),
});

const columnsOf = ({ id: flowId, steps }: Flow, names: AudienceNames): readonly TableColumn<StepReport>[] => [
  {
    key: 'step',
    header: 'Step',
    cell: ({ step_id: id, type }) =>
      type === null ? (
        `Step ${id}, removed`
      ) : (
        <BrandLink to={`/flows/${flowId}`} search={{ step: String(id) }}>
          <StepName id={id} steps={steps} names={names} />
        </BrandLink>
      ),
  },
  {
    key: 'here',
    header: 'Runs here now',
    align: 'right',
    cell: ({ step_id: id, in_progress_count: here }) => (
      <BrandLink to={`/flows/${flowId}/runs`} search={{ step_id: String(id), state: 'active' }}>
        {here === null ? 'many' : countText(here)}
      </BrandLink>
    ),
  },
  count('Sent', (messages) => messages.sent_count),
  count('Delivered', (messages) => messages.delivered_count),
  count('Opened', (messages) => messages.opened_count),
  count('Clicked', (messages) => messages.clicked_count),
  count('Bounced', (messages) => messages.bounced_count),
  count('Not sent', (messages) => total(messages.not_accepted)),
];
