import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useMemo, useState } from 'react';
import type { Draft } from '../../../editors/draft/draft.ts';
import { useUnchanged } from '../../../editors/draft/use-unchanged.ts';
import { useAction } from '../../../ui/action.ts';
import { Button } from '../../../ui/button.tsx';
import { Dialog } from '../../../ui/dialog.tsx';
import { Checkbox } from '../../../ui/field.tsx';
import { useOpen } from '../../../ui/links.tsx';
import { Notice } from '../../../ui/notice.tsx';
import { QueryView } from '../../../ui/query-view.tsx';
import { useFlow, type Flow } from '../flow-frame.tsx';
import type { StepKey } from '../flow-layout.ts';
import { checkFlow } from './check-flow.ts';
import { findStep, stepAtPath, type FlowContent } from './model.ts';
import { OtherProblem } from './other-problem.tsx';
import { isOfStep, type Problem } from './problems.ts';
import { differenceOf, type Difference } from './difference.ts';
import { publishFlow, type PublishChoices } from './publish.ts';
import { RunsUnderWay } from './runs-under-way.tsx';
import { fullNameOf } from './texts.ts';

const ComparisonView = lazy(async () => ({
  default: (await import('./comparison-view.tsx')).ComparisonView,
}));

interface PublishProps {
  flowId: number;
  draft: Draft<FlowContent>;
  onClose: () => void;
  /** Opens a step that has a problem. */
  onShow: (key: StepKey | null) => void;
}

/** Says what publishing would do, before it is done. */
export function PublishDialog(props: PublishProps) {
  const { flowId, draft, onClose } = props;
  const query = useFlow(flowId);
  return (
    <Dialog open onClose={onClose} title={`Publish “${draft.content.name}”?`} wide>
      <QueryView query={query}>{(flow) => <Publish {...props} flow={flow} />}</QueryView>
    </Dialog>
  );
}

function Publish({ flowId, draft, flow, onClose, onShow }: PublishProps & { flow: Flow }) {
  const open = useOpen();
  const { content } = draft;
  const difference = useMemo(() => differenceOf(flow, content), [flow, content]);
  const [applyTo, setApplyTo] = useState<PublishChoices['applyTo']>('new');
  const [enterExisting, setEnterExisting] = useState(false);
  const { data: problems } = useQuery({
    queryKey: ['flows', flowId, 'check', 'publish', content],
    gcTime: 0,
    queryFn: ({ signal }) => checkFlow(flowId, content, signal),
  });
  const isDraft = flow.status === 'draft';
  const isRefused = problems === undefined || problems.length > 0;
  const action = useAction({
    work: (activate: PublishChoices['activate']) => publishFlow(flowId, draft, { applyTo, activate }),
    done: (_result, activate) => (activate ? 'The flow is published and active.' : 'The flow is published.'),
    refresh: ['flows', 'flow_runs', 'drafts', 'templates'],
    fields: [],
    onDone(_result, activate) {
      onClose();
      if (activate) open(`/flows/${flowId}`);
    },
  });
  useUnchanged(draft, { isBusy: action.busy, onChanged: onClose });
  const show = (key: StepKey | null) => {
    onShow(key);
    onClose();
  };
  return (
    <>
      <Problems content={content} problems={problems} isDraft={isDraft} onShow={show} />
      {isDraft ? (
        <p>The flow is a draft: publishing replaces its steps. Contacts enter once it is active.</p>
      ) : (
        <>
          <Changes flow={flow} content={content} difference={difference} />
          <RunsUnderWay flow={flow} difference={difference} applyTo={applyTo} onApplyTo={setApplyTo} />
          <Approval flow={flow} />
        </>
      )}
      {isDraft && (content.trigger.contact_list_id !== null || content.trigger.segment_id !== null) && (
        <Checkbox
          checked={enterExisting}
          onChange={({ target }) => setEnterExisting(target.checked)}
          label="On activation, contacts who are already in its audience enter, too"
          hint="Without this, only those who come later enter."
        />
      )}
      {action.fault !== null && (
        <Notice tone="bad" title="Not everything was done">
          {action.fault}
        </Notice>
      )}
      <div className="actions">
        {isDraft && (
          <Button
            kind="primary"
            busy={action.busy}
            disabled={isRefused}
            onClick={() => action.run({ enterExisting })}
          >
            Publish and activate
          </Button>
        )}
        <Button
          kind={isDraft ? 'secondary' : 'primary'}
          busy={action.busy}
          disabled={!isDraft && isRefused}
          onClick={() => action.run(null)}
        >
          {isDraft ? 'Publish as a draft' : 'Publish'}
        </Button>
        <Button onClick={onClose}>Close</Button>
      </div>
    </>
  );
}

function Problems({
  content,
  problems,
  isDraft,
  onShow,
}: {
  content: FlowContent;
  problems: readonly Problem[] | undefined;
  isDraft: boolean;
  onShow: (key: StepKey | null) => void;
}) {
  if (problems === undefined) return <p role="status">Checking…</p>;
  if (problems.length === 0) return <p role="status">The checks found no problems.</p>;
  const title = isDraft ? 'It cannot be activated yet' : 'It cannot be published yet';
  return (
    <Notice tone="bad" title={title}>
      <ul className="problems">
        {problems.map(({ field, message }) => {
          const at = stepAtPath(content.steps, field);
          const isOfTrigger = /^trigger\b/.test(field);
          return (
            <li key={`${field} ${message}`}>
              {at || isOfTrigger ? (
                <>
                  <Button kind="quiet" onClick={() => onShow(at?.key ?? null)}>
                    {at ? `${titleOf(content, at.key)}${fieldText(at.field)}` : 'Who enters'}
                  </Button>{' '}
                  {message}
                </>
              ) : (
                <OtherProblem problem={{ field, message }} />
              )}
            </li>
          );
        })}
      </ul>
    </Notice>
  );
}

const fieldText = (field: string) => (field === '' || isOfStep(field) ? '' : `, ${field}`);

function titleOf({ steps }: FlowContent, key: StepKey): string {
  const step = findStep(steps, key)?.step;
  return step ? fullNameOf(step) : String(key);
}

/** What differs from the flow that is live. */
function Changes({
  flow,
  content,
  difference: { letters },
}: {
  flow: Flow;
  content: FlowContent;
  difference: Difference;
}) {
  const [open, setOpen] = useState(false);
  return (
    <>
      {letters.length > 0 && (
        <p>
          Changed contents of {letters.map(fullNameOf).join(', ')} reach every run that has not reached the
          step yet, whatever its version.
        </p>
      )}
      <Button kind="quiet" aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? 'Hide the changes' : 'Show the changes'}
      </Button>
      {open && (
        <Suspense fallback={<p role="status">Loading…</p>}>
          <ComparisonView
            left={{ title: 'Live now', flow }}
            right={{ title: 'To be published', flow: content }}
          />
        </Suspense>
      )}
    </>
  );
}

function Approval({ flow: { approval_state: approval } }: { flow: Flow }) {
  if (approval === 'not_required') return null;
  return (
    <Notice tone="busy" title="It needs approval again">
      <p>
        Until an operator has approved it, contacts do not enter. Active runs follow what was approved before.
      </p>
    </Notice>
  );
}
