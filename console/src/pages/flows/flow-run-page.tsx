import { useQuery } from '@tanstack/react-query';
import { useAudienceNames } from '../../api/audience.ts';
import type { AudienceNames } from '../../api/choices.ts';
import { api, call, type Schemas } from '../../api/client.ts';
import { POLL_MS } from '../../api/query-client.ts';
import { useAction } from '../../ui/action.ts';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { Card, DetailList, StatusBadge, Time, countText } from '../../ui/details.tsx';
import { BrandLink, useId, useOpen } from '../../ui/links.tsx';
import { PageHeader } from '../../ui/list-page.tsx';
import { Notice } from '../../ui/notice.tsx';
import { QueryView } from '../../ui/query-view.tsx';
import { WorkflowLink } from '../../ui/temporal-link.tsx';
import { useFlow, useFlowVersion, type Flow } from './flow-frame.tsx';
import { FlowGraph } from './flow-graph.tsx';
import { RunContact } from './run-contact.tsx';
import { RunPath } from './run-path.tsx';
import { runText } from './run-text.ts';
import { findStep, stepSummary, triggerText } from './step-text.ts';
import { pathOfRun } from './taken-path.ts';

type Run = Schemas['FlowRun'];

export function FlowRunPage() {
  const id = useId('flowRunId');
  const query = useQuery({
    queryKey: ['flow_runs', id],
    queryFn: ({ signal }) =>
      call(() => api.GET('/v1/my/flow_runs/{id}', { params: { path: { id } }, signal })),
    refetchInterval: (running) => (running.state.data?.state === 'active' ? POLL_MS : false),
  });
  return (
    <QueryView query={query}>
      {(run) => (
        <>
          <PageHeader
            title={`Run ${run.id}`}
            actions={
              <>
                {run.state === 'active' && <CancelButton run={run} />}
                <WorkflowLink id={run.workflow_id} />
              </>
            }
          >
            <div className="actions">
              <StatusBadge status={run.state} />
              <span>{runText(run)}</span>
              {run.test && <span className="muted">test run: nothing leaves the service</span>}
            </div>
          </PageHeader>
          <RunFacts run={run} />
          <RunOnFlow run={run} />
        </>
      )}
    </QueryView>
  );
}

function CancelButton({ run: { id } }: { run: Run }) {
  const { run, busy } = useAction({
    work: () => call(() => api.POST('/v1/my/flow_runs/{id}/cancel', { params: { path: { id } } })),
    done: 'The run is canceled.',
    refresh: ['flow_runs', 'flows'],
  });
  return (
    <ConfirmButton label="Cancel" title="Cancel this run?" confirm="Cancel it" busy={busy} onConfirm={run}>
      <p>The contact takes no further step. This cannot be undone.</p>
    </ConfirmButton>
  );
}

const CAUSES: Record<Run['cause'], string> = {
  event: 'an event',
  list: 'was added to the list',
  segment: 'began to match the segment',
  request: 'a request',
};

function RunFacts({ run }: { run: Run }) {
  const { data: flow } = useFlow(run.flow_id);
  return (
    <Card>
      <DetailList
        items={[
          [
            'Flow',
            <BrandLink key="flow" to={`/flows/${run.flow_id}`}>
              {flow?.name ?? `Flow ${run.flow_id}`}
            </BrandLink>,
          ],
          ['Contact', <RunContact key="contact" run={run} />],
          ['Entered by', run.event ? `the event ${run.event.name}` : CAUSES[run.cause]],
          ['Entered', <Time key="entered" at={run.created_at} full />],
          ['Due', run.due_at && <Time key="due" at={run.due_at} full />],
          ['Ended', run.ended_at && <Time key="ended" at={run.ended_at} full />],
          ...(run.retry_at === null
            ? []
            : ([['Tries again', <Time key="again" at={run.retry_at} full />]] as const)),
          ['Clock', <Clock key="clock" run={run} />],
        ]}
      />
    </Card>
  );
}

/** The workflow that continues the run at its times, and the other runs that it continues. */
function Clock({ run: { flow_id: flowId, workflow_id: workflowId, cohort } }: { run: Run }) {
  return (
    <>
      <code>{workflowId}</code>{' '}
      {cohort && cohort.size > 1 && (
        <BrandLink to={`/flows/${flowId}/runs`} search={{ cohort: String(cohort.number) }}>
          1 of {countText(cohort.size)} runs that share a clock
        </BrandLink>
      )}
    </>
  );
}

/** The run on the version that it follows, or on the flow as it is now if the version was deleted. */
function RunOnFlow({ run }: { run: Run }) {
  const { version } = run;
  return (
    <QueryView query={useFlow(run.flow_id)}>
      {(flow) =>
        version === null ? (
          <Views run={run} name={flow.name} flow={flow} />
        ) : (
          <OnVersion run={run} name={flow.name} version={version} />
        )
      }
    </QueryView>
  );
}

const OnVersion = ({ run, name, version }: { run: Run; name: string; version: number }) => (
  <QueryView query={useFlowVersion(run.flow_id, version)}>
    {(found) => <Views run={run} name={`${name}, version ${version}`} flow={found} />}
  </QueryView>
);

interface ViewsProps {
  run: Run;
  name: string;
  flow: Pick<Flow, 'steps' | 'trigger'>;
}

function Views(props: ViewsProps) {
  const names = useAudienceNames();
  return (
    <>
      <Graph {...props} names={names} />
      <RunPath run={props.run} steps={props.flow.steps} names={names} />
    </>
  );
}

function Graph({ run, name, flow, names }: ViewsProps & { names: AudienceNames }) {
  const open = useOpen();
  const takenPath = pathOfRun(run);
  const isMissing = [...run.path.map(({ step_id: id }) => id), run.step_id].some(
    (id) => id !== null && !findStep(flow.steps, id),
  );
  return (
    <Card title={name}>
      {isMissing && (
        <Notice tone="warn">
          <p>The flow has changed since. Steps that are gone are in its path only.</p>
        </Notice>
      )}
      <FlowGraph
        label={`Path of run ${run.id} through ${name}`}
        steps={flow.steps}
        trigger={
          <>
            <strong>{triggerText(flow.trigger, names)}</strong>
            <span className="flow-note">
              entered <Time at={run.created_at} />
            </span>
          </>
        }
        end={run.state === 'completed' ? 'Completed' : 'End'}
        summaryOf={(step) => stepSummary(step, names)}
        noteOf={(step) => takenPath.noteOf(step.id)}
        selected={null}
        onSelect={(id) => open(`/flows/${run.flow_id}`, { step: String(id) })}
        takenPath={takenPath}
      />
    </Card>
  );
}
