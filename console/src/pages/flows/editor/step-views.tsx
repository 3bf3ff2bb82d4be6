import { lazy, Suspense } from 'react';
import { Button } from '../../../ui/button.tsx';
import { Card } from '../../../ui/details.tsx';
import { useListSearch } from '../../../ui/list-search.ts';
import { Outline } from './outline.tsx';
import type { EditorViewProps } from './views.ts';

const Graph = lazy(async () => ({ default: (await import('./graph.tsx')).Graph }));

/** On narrower screens, the outline is the first view. */
const WIDE = '(min-width: 700px)';

const VIEWS = [
  { view: 'graph', label: 'Graph' },
  { view: 'outline', label: 'Outline' },
] as const;

/** The steps as a graph, or as an outline, which the URL says. */
export function StepViews(props: EditorViewProps) {
  const { search, set } = useListSearch([]);
  const shown = search.view ?? (globalThis.matchMedia(WIDE).matches ? 'graph' : 'outline');
  return (
    <Card
      title="Steps"
      actions={VIEWS.map(({ view, label }) => (
        <Button key={view} kind="quiet" aria-pressed={view === shown} onClick={() => set({ view })}>
          {label}
        </Button>
      ))}
    >
      {shown === 'graph' ? (
        <Suspense fallback={<p role="status">Loading…</p>}>
          <Graph {...props} />
        </Suspense>
      ) : (
        <Outline {...props} />
      )}
    </Card>
  );
}
