import { countText } from '../../ui/details.tsx';
import { useSegmentPreview, type Filters } from './preview.ts';

/** How many contacts filters select now. @param props.live keeps counting */
export function SegmentCount({ filters, live = false }: { filters: Filters; live?: boolean }) {
  const { data, isError } = useSegmentPreview(filters, { live });
  if (isError) return <span className="muted">not known</span>;
  if (!data) return <span className="muted">…</span>;
  return data.count === null ? (
    <span className="muted" title={data.slow_because ?? undefined}>
      too slow to count
    </span>
  ) : (
    countText(data.count)
  );
}
