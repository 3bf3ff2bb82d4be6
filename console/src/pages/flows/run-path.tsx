import type { AudienceNames } from '../../api/choices.ts';
import type { Schemas } from '../../api/client.ts';
import { Card, StatusBadge, Time } from '../../ui/details.tsx';
import { BrandLink } from '../../ui/links.tsx';
import { DataTable, type TableColumn } from '../../ui/table.tsx';
import { StepName } from './step-name.tsx';
import { findStep, type FlowStep } from './step-text.ts';

type PathStep = Schemas['FlowRun']['path'][number];

const columnsOf = (steps: readonly FlowStep[], names: AudienceNames): readonly TableColumn<PathStep>[] => [
  {
    key: 'step',
    header: 'Step',
    cell: ({ step_id: id, type }) =>
      findStep(steps, id) ? (
        <StepName id={id} steps={steps} names={names} />
      ) : (
        `${type.replaceAll('_', ' ')} ${id}, which is gone`
      ),
  },
  { key: 'outcome', header: 'Outcome', cell: ({ outcome }) => outcome ?? <span className="muted">–</span> },
  { key: 'message', header: 'Message', cell: messageOf },
  { key: 'detail', header: 'Detail', wideOnly: true, cell: ({ detail }) => detail && detailText(detail) },
  { key: 'entered', header: 'Reached', cell: ({ entered_at: at }) => <Time at={at} full /> },
  { key: 'left', header: 'Left', wideOnly: true, cell: ({ left_at: at }) => <Time at={at} full /> },
];

function messageOf({ message }: PathStep) {
  if (!message) return <span className="muted">–</span>;
  return (
    <>
      <BrandLink to={`/messages/${message.id}`}>{message.id}</BrandLink>{' '}
      <StatusBadge status={message.status} /> {message.failure?.message}
      {message.unknown_at !== null && message.status !== 'unknown' && (
        <span className="muted">
          was unknown at <Time at={message.unknown_at} />, {attemptsText(message.attempt_count)}
        </span>
      )}
    </>
  );
}

const attemptsText = (count: number) => (count === 1 ? 'one attempt' : `${count} attempts`);

const detailText = (detail: Record<string, unknown>) =>
  Object.entries(detail)
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ');

/** The steps that a run has taken, in their order. @param props.steps those of its version */
export const RunPath = ({
  run,
  steps,
  names,
}: {
  run: Schemas['FlowRun'];
  steps: readonly FlowStep[];
  names: AudienceNames;
}) => (
  <Card title="Path">
    <DataTable
      label="Path"
      rows={run.path}
      columns={columnsOf(steps, names)}
      rowKey={({ step_id: id, entered_at: at }) => `${id} ${at}`}
      empty={
        <p className="muted">It has not taken a step yet, or its path was removed because it was old.</p>
      }
    />
  </Card>
);
