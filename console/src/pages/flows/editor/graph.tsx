/** The graph of a flow in its editor. React Flow is large, so this file is loaded on demand. */
import '@xyflow/react/dist/base.css';
import {
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
  useStore,
  ViewportPortal,
  type NodeChange,
  type Viewport,
} from '@xyflow/react';
import { useEffect, useMemo, useRef, useState, type FocusEvent } from 'react';
import { Button } from '../../../ui/button.tsx';
import { moveByKeys } from '../flow-graph.tsx';
import { keyOf, type Edge, type Point } from '../flow-layout.ts';
import type { TakenPath } from '../taken-path.ts';
import { moveStep } from './commands.ts';
import { nodeTypes, ViewContext } from './graph-boxes.tsx';
import { drawFlow, markNear, type Drawing, type GraphNode, type MarkNode } from './graph-nodes.ts';

import type { EditorViewProps } from './views.ts';

const ZOOM = { min: 0.25, max: 1.5 } as const;
const MARGIN = 16;

/** The steps as boxes that are dragged to '+' marks. Each box and each mark is a button, in reading order. */
export const Graph = (props: EditorViewProps) => (
  <ReactFlowProvider>
    <Canvas {...props} />
  </ReactFlowProvider>
);

type Size = Record<'width' | 'height', number>;

interface Drag {
  id: string;
  position: Point;
  target: MarkNode | null;
}

function Canvas(view: EditorViewProps) {
  const { content, run, takenPath } = view;
  const { steps } = content;
  const drawing = useMemo(() => drawFlow(steps), [steps]);
  const [drag, setDrag] = useState<Drag | null>(null);
  const nodes = drawing.nodes.map((node) =>
    node.id === drag?.id ? { ...node, position: drag.position } : node,
  );
  const move = (changes: NodeChange<GraphNode>[]) => {
    for (const change of changes) {
      if (change.type !== 'position' || change.dragging !== true || !change.position) continue;
      const { id, position } = change;
      const dragged = drawing.nodes.find((node) => node.id === id);
      const target =
        dragged?.type === 'step' ? markNear(drawing, steps, keyOf(dragged.data.step), position) : null;
      setDrag({ id, position, target });
    }
  };
  const drop = (node: GraphNode) => {
    const { place } = drag?.target?.data ?? {};
    setDrag(null);
    if (place && node.type === 'step') {
      const key = keyOf(node.data.step);
      run((before) => moveStep(before, key, place));
    }
  };
  const context = useMemo(() => ({ view, target: drag?.target?.id ?? null }), [view, drag?.target?.id]);
  const onFocus = useShow(drawing, view.selected === null ? 'trigger' : `step ${view.selected}`, takenPath);
  return (
    <ViewContext value={context}>
      <div
        className={takenPath ? 'flow-canvas with-path' : 'flow-canvas'}
        role="group"
        aria-label={`Steps of ${content.name}`}
        onFocus={onFocus}
      >
        <ReactFlow<GraphNode>
          onKeyDown={moveByKeys}
          nodes={nodes}
          nodeTypes={nodeTypes}
          onNodesChange={move}
          onNodeDragStop={(_event, node) => drop(node)}
          nodeDragThreshold={4}
          minZoom={ZOOM.min}
          maxZoom={ZOOM.max}
          panOnScroll
          zoomOnDoubleClick={false}
          elementsSelectable={false}
          nodesConnectable={false}
          nodesFocusable={false}
          disableKeyboardA11y
          deleteKeyCode={null}
          selectionKeyCode={null}
          multiSelectionKeyCode={null}
        >
          <Lines drawing={drawing} isTaken={takenPath?.isTaken} />
        </ReactFlow>
        <Zoom />
      </div>
    </ViewContext>
  );
}

/** Whether the whole box of a node is in sight. */
function isInSight(
  { position, width = 0, height = 0 }: GraphNode,
  { x, y, zoom }: Viewport,
  frame: Size,
): boolean {
  const left = position.x * zoom + x;
  const top = position.y * zoom + y;
  return left >= 0 && top >= 0 && left + width * zoom <= frame.width && top + height * zoom <= frame.height;
}

const WHOLE = { padding: 0.05, maxZoom: 1 } as const;

/**
 * Begins at the trigger, and moves the drawing if the focus or the selection is out of sight; a new path is shown whole.
 */
function useShow(drawing: Drawing, selected: string, takenPath: TakenPath | undefined) {
  const { fitView, setViewport, setCenter, getViewport, viewportInitialized } = useReactFlow();
  const width = useStore((state) => state.width);
  const height = useStore((state) => state.height);
  const hasBegun = useRef(false);
  const showNode = (id: string | null | undefined, viewport = getViewport()) => {
    const node = drawing.nodes.find((each) => each.id === id);
    if (!node || isInSight(node, viewport, { width, height })) return;
    const { x, y } = node.position;
    const { zoom } = viewport;
    void setCenter(x + (node.width ?? 0) / 2, y + (node.height ?? 0) / 2, { zoom });
  };
  useEffect(() => {
    if (!viewportInitialized || width === 0 || hasBegun.current) return;
    hasBegun.current = true;
    const fits = width / (drawing.layout.width + 2 * MARGIN);
    const start = { x: width / 2, y: MARGIN, zoom: Math.min(1, Math.max(fits, 0.5)) };
    void setViewport(start).then(() => showNode(selected, start));
  }, [drawing, setViewport, viewportInitialized, width]);
  useEffect(() => {
    if (hasBegun.current) showNode(selected);
    // Only a new selection moves the drawing, not each change of the steps.
  }, [selected]);
  useEffect(() => {
    if (!hasBegun.current || !takenPath) return;
    const nodes = drawing.nodes.filter(
      ({ id, type, data }) =>
        id === 'trigger' || (type === 'step' && takenPath.stateOf(data.step) === 'taken'),
    );
    void fitView({ ...WHOLE, nodes });
  }, [takenPath]);
  return ({ target }: FocusEvent<HTMLElement>) => {
    if (target.matches(':focus-visible')) showNode(target.closest('[data-id]')?.getAttribute('data-id'));
  };
}

const pathOf = (points: readonly Point[]) => points.map(({ x, y }) => `${x},${y}`).join(' ');

/** The lines lie below the boxes, and those that were taken above the others. */
function Lines({
  drawing: { layout, shift },
  isTaken = () => false,
}: {
  drawing: Drawing;
  isTaken?: ((edge: Edge) => boolean) | undefined;
}) {
  const { width, height } = layout;
  const edges = layout.edges.toSorted((a, b) => Number(isTaken(a)) - Number(isTaken(b)));
  return (
    <ViewportPortal>
      <svg className="flow-lines" width={width} height={height} style={{ left: shift }} aria-hidden="true">
        {edges.map((edge) => (
          <polyline
            key={pathOf(edge.points)}
            points={pathOf(edge.points)}
            className={isTaken(edge) ? 'taken' : undefined}
          />
        ))}
      </svg>
    </ViewportPortal>
  );
}

function Zoom() {
  const { zoomIn, zoomOut, fitView } = useReactFlow();
  return (
    <div className="flow-zoom">
      <Button aria-label="Zoom in" onClick={() => void zoomIn()}>
        +
      </Button>
      <Button aria-label="Zoom out" onClick={() => void zoomOut()}>
        −
      </Button>
      <Button onClick={() => void fitView(WHOLE)}>Fit</Button>
    </div>
  );
}
