import { useAudienceNames } from '../../api/audience.ts';
import type { AudienceNames } from '../../api/choices.ts';
import type { Schemas } from '../../api/client.ts';
import { Card, countText, DetailList } from '../../ui/details.tsx';
import { useListSearch } from '../../ui/list-search.ts';
import { FlowFrame, useFlowReport, type Flow } from './flow-frame.tsx';
import { FlowGraph } from './flow-graph.tsx';
import { StepPanel } from './step-panel.tsx';
import {
  conditionsText,
  findStep,
  reentryText,
  stepSummary,
  triggerText,
  type FlowStep,
} from './step-text.ts';

type StepReport = Schemas['FlowReport']['steps'][number];

export const FlowPage = () => <FlowFrame>{(flow) => <Steps flow={flow} />}</FlowFrame>;

function Steps({ flow }: { flow: Flow }) {
  const names = useAudienceNames();
  const { data: report } = useFlowReport(flow);
  const { search, set } = useListSearch([]);
  const selected = Number(search.step) || null;
  const step = selected === null ? null : findStep(flow.steps, selected);
  const reports = new Map(report?.steps.map((each) => [each.step_id, each]));
  return (
    <div className="flow-view">
      <Card title="Steps">
        <FlowGraph
          label={`Steps of ${flow.name}`}
          steps={flow.steps}
          trigger={
            <>
              <strong>{triggerText(flow.trigger, names)}</strong>
              <span className="flow-summary">{flow.goal !== null && `Goal: ${flow.goal}`}</span>
              <span className="flow-note">{report && `${countText(report.entered_count)} entered`}</span>
            </>
          }
          end={report ? `${countText(report.completed_count)} completed` : 'End'}
          summaryOf={(each) => stepSummary(each, names)}
          noteOf={(each) => figuresText(each, reports.get(each.id))}
          selected={selected}
          onSelect={(id) => set({ step: id === selected ? undefined : String(id) })}
        />
      </Card>
      {step ? (
        <StepPanel flow={flow} step={step} report={reports.get(step.id)} names={names} />
      ) : (
        <Entry flow={flow} names={names} />
      )}
    </div>
  );
}

/** The figures that a box shows: how many runs are at the step now, and what it has sent. */
function figuresText(step: FlowStep, report: StepReport | undefined): string {
  if (!report) return '';
  const { in_progress_count: here, messages } = report;
  const sends = step.type === 'email' || step.type === 'sms';
  return [
    here === null ? 'very many here' : here > 0 ? `${countText(here)} here` : '',
    sends && messages ? `${countText(messages.sent_count)} sent` : '',
    step.type === 'email' && messages ? `${countText(messages.opened_count)} opened` : '',
  ]
    .filter(Boolean)
    .join(' · ');
}

function Entry({ flow: { trigger, goal }, names }: { flow: Flow; names: AudienceNames }) {
  const { filters, exit_filters: exitFilters, reentry } = trigger.data;
  return (
    <Card title="Who enters">
      <DetailList
        items={[
          ['Trigger', triggerText(trigger, names)],
          ['The same contact enters', reentryText(reentry)],
          ['Only contacts with', filters?.length ? conditionsText(filters, names) : null],
          ['Leaves as soon as', exitFilters?.length ? conditionsText(exitFilters, names) : null],
          ['Goal', goal],
        ]}
      />
      <p className="muted">Choose a step to see what it does, and its figures.</p>
    </Card>
  );
}
