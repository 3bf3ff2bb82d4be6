import { useMemo, useState, type KeyboardEvent } from 'react';
import { useAudienceNames } from '../../../api/audience.ts';
import { DraftBar } from '../../../editors/draft/draft-bar.tsx';
import type { Published } from '../../../editors/draft/draft.ts';
import { useDraft } from '../../../editors/draft/use-draft.ts';
import { Button } from '../../../ui/button.tsx';
import { StatusBadge } from '../../../ui/details.tsx';
import { BrandLink } from '../../../ui/links.tsx';
import { PageHeader } from '../../../ui/list-page.tsx';
import { Notice } from '../../../ui/notice.tsx';
import type { Flow } from '../flow-frame.tsx';
import { stepSummary, triggerText, type FlowStep } from '../step-text.ts';
import { useFlowProblems } from './check-flow.ts';
import { flowForm } from './flow-form.ts';
import { flowText, FlowVersion } from './flow-version.tsx';
import { StepLetter } from './step-letter.tsx';
import { findStep, type FlowContent } from './model.ts';
import { messagesByStep, type FlowProblems } from './problems.ts';
import { OtherProblem } from './other-problem.tsx';
import { PublishDialog } from './publish-dialog.tsx';
import { SidePanel } from './side-panel.tsx';
import { SimulatePanel, wayIn, type Simulated } from './simulate-panel.tsx';
import { StepViews } from './step-views.tsx';
import { useFlowEditor, type FlowEditor } from './use-flow-editor.ts';
import { usePanel } from './use-panel.ts';
import { useInsertion } from './use-insertion.tsx';

const isTyping = (target: EventTarget) =>
  target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable]') !== null;

/** Ctrl+Z and Ctrl+Y, or Command on a Mac, outside of text fields, which have their own. */
function travelByKeys(event: KeyboardEvent, { undo, redo }: FlowEditor): void {
  if (!(event.ctrlKey || event.metaKey) || isTyping(event.target)) return;
  const key = event.key.toLowerCase();
  const isRedo = key === 'y' || (key === 'z' && event.shiftKey);
  if (!isRedo && key !== 'z') return;
  event.preventDefault();
  (isRedo ? redo : undo)?.();
}

/** Where a flow is edited: its steps as a graph or an outline, the form of one of them, and its draft. */
export function FlowEditorPage({ flow, published }: { flow: Flow; published: Published<FlowContent> }) {
  const draft = useDraft({ kind: 'flows', id: flow.id }, published, flowForm);
  const editor = useFlowEditor(draft);
  const names = useAudienceNames();
  const problems = useFlowProblems(flow.id, editor.content);
  const [isPublishing, setPublishing] = useState(false);
  const [letter, setLetter] = useState<string | number | null>(null);
  const email = letter === null ? undefined : findStep(editor.content.steps, letter)?.step;
  const common = { flow, editor, names, problems };
  return (
    <div className="flow-editor" onKeyDown={(event) => travelByKeys(event, editor)}>
      <Header flow={flow} editor={editor} />
      <DraftBar
        draft={draft}
        {...(editor.content.steps.length === 0 && { publishedText: 'Nothing to publish yet.' })}
        disabled={flow.status === 'archived'}
        onPublish={() => setPublishing(true)}
        showVersion={(content) => <FlowVersion content={content} names={names} />}
        textOf={(value, path) => flowText(value, path, names)}
      />
      <OtherProblems problems={problems} />
      {email ? (
        <StepLetter {...common} step={email} onClose={() => setLetter(null)} />
      ) : (
        <Steps {...common} onEditLetter={setLetter} />
      )}
      {isPublishing && (
        <PublishDialog
          flowId={flow.id}
          draft={draft}
          onClose={() => setPublishing(false)}
          onShow={(key) => {
            setLetter(null);
            editor.select(key);
          }}
        />
      )}
    </div>
  );
}

function Header({ flow, editor }: { flow: Flow; editor: FlowEditor }) {
  return (
    <PageHeader
      title={editor.content.name}
      actions={
        <>
          <Button disabled={!editor.undo} onClick={() => editor.undo?.()}>
            Undo
          </Button>
          <Button disabled={!editor.redo} onClick={() => editor.redo?.()}>
            Redo
          </Button>
        </>
      }
    >
      <div className="actions">
        <StatusBadge status={flow.status} />
        <BrandLink to={`/flows/${flow.id}`}>Back to the flow</BrandLink>
      </div>
    </PageHeader>
  );
}

/** The problems that are not about the steps or the trigger, which show their own. */
const OtherProblems = ({ problems: { others } }: { problems: FlowProblems }) =>
  others.length === 0 ? null : (
    <Notice tone="warn" title="Before this flow can be active">
      <ul className="problems">
        {others.map((problem) => (
          <li key={`${problem.field} ${problem.message}`}>
            <OtherProblem problem={problem} />
          </li>
        ))}
      </ul>
    </Notice>
  );

const hasTrigger = ({ trigger }: FlowContent) =>
  (trigger.event ?? trigger.contact_list_id ?? trigger.segment_id) !== null;

function Steps({
  flow,
  editor,
  names,
  problems,
  onEditLetter,
}: Omit<Parameters<typeof SidePanel>[0], 'panel' | 'onAdd' | 'onMove' | 'onCopy'>) {
  const { content } = editor;
  const [simulated, setSimulated] = useState<Simulated | null>(null);
  const [isSimulating, setSimulating] = useState(false);
  const takenPath = useMemo(
    () => (isSimulating ? wayIn(content, simulated) : undefined),
    [isSimulating, content, simulated],
  );
  const panel = usePanel(editor);
  const places = useInsertion(flow.id, editor);
  return (
    <>
      {places.notice}
      <div className="flow-view">
        <StepViews
          content={content}
          selected={editor.selected}
          onSelect={panel.open}
          run={editor.run}
          problems={messagesByStep(problems)}
          summaryOf={(step) => stepSummary(step as FlowStep, names)}
          triggerText={hasTrigger(content) ? triggerText(content.trigger, names) : 'Nobody yet'}
          addText={places.addText}
          onAdd={places.add}
          takenPath={takenPath}
        />
        <div className="flow-side">
          <Button aria-pressed={isSimulating} onClick={() => setSimulating(!isSimulating)}>
            Simulate
          </Button>
          {isSimulating ? (
            <SimulatePanel {...{ flowId: flow.id, content, simulated }} onSimulated={setSimulated} />
          ) : (
            <SidePanel
              {...{ flow, editor, names, problems, panel, onEditLetter }}
              onAdd={places.add}
              onMove={places.move}
              onCopy={places.copy}
            />
          )}
        </div>
      </div>
      {places.menu}
    </>
  );
}
