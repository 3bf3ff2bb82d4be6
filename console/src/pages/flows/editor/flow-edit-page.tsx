import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useListChoices, useSegmentChoices } from '../../../api/audience.ts';
import { api, callWithTag } from '../../../api/client.ts';
import { Button } from '../../../ui/button.tsx';
import { useId } from '../../../ui/links.tsx';
import { PageHeader } from '../../../ui/list-page.tsx';
import { QueryView } from '../../../ui/query-view.tsx';
import { stepSummary, triggerText, type FlowStep } from '../step-text.ts';
import { contentOf } from './content.ts';
import type { FlowContent, Place } from './model.ts';
import { messagesByStep, useFlowProblems } from './problems.ts';
import { SimulatePanel, wayIn, type Simulated } from './simulate-panel.tsx';
import { StepMenu } from './step-menu.tsx';
import { StepViews } from './step-views.tsx';
import { useFlowEditor } from './use-flow-editor.ts';
import type { EditorViewProps } from './views.ts';

/** Edits a flow. Nothing live changes until it is published. */
export function FlowEditPage() {
  const id = useId('flowId');
  const query = useQuery({
    queryKey: ['flows', id, 'edit'],
    queryFn: async ({ signal }) => {
      const { data, etag } = await callWithTag(() =>
        api.GET('/v1/my/flows/{id}', { params: { path: { id } }, signal }),
      );
      return { content: contentOf(data), etag: etag ?? '' };
    },
    refetchOnWindowFocus: false,
  });
  return <QueryView query={query}>{(published) => <Editor key={id} flowId={id} {...published} />}</QueryView>;
}

function Editor({ flowId, content: published }: { flowId: number; content: FlowContent; etag: string }) {
  const [content, setContent] = useState(published);
  const editor = useFlowEditor({ content, change: setContent });
  const [simulated, setSimulated] = useState<Simulated | null>(null);
  const [isSimulating, setSimulating] = useState(false);
  const [place, setPlace] = useState<Place | null>(null);
  const problems = useFlowProblems(flowId, editor.content);
  const names = { lists: useListChoices(), segments: useSegmentChoices() };
  const view: EditorViewProps = {
    content: editor.content,
    selected: editor.selected,
    onSelect: editor.select,
    run: editor.run,
    problems: messagesByStep(problems),
    summaryOf: (step) => stepSummary(step as FlowStep, names),
    triggerText: triggerText(editor.content.trigger, names),
    onAdd: setPlace,
    way: isSimulating ? wayIn(editor.content, simulated) : undefined,
  };
  return (
    <>
      <PageHeader
        title={editor.content.name}
        actions={
          <>
            <Button aria-pressed={isSimulating} onClick={() => setSimulating(!isSimulating)}>
              Simulate
            </Button>
            <Button disabled={!editor.undo} onClick={() => editor.undo?.()}>
              Undo
            </Button>
            <Button disabled={!editor.redo} onClick={() => editor.redo?.()}>
              Redo
            </Button>
          </>
        }
      />
      <div className="flow-view">
        <StepViews {...view} />
        {isSimulating && (
          <SimulatePanel {...{ flowId, content: editor.content, simulated }} onSimulated={setSimulated} />
        )}
      </div>
      {place && <StepMenu place={place} editor={editor} onClose={() => setPlace(null)} />}
    </>
  );
}
