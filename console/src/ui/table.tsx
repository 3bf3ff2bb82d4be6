import { createColumnHelper, tableFeatures, useTable } from '@tanstack/react-table';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useMemo, useRef, type KeyboardEvent, type ReactNode, type RefObject } from 'react';

export interface TableColumn<Row> {
  /** Unique in the table. */
  key: string;
  header: string;
  cell: (row: Row) => ReactNode;
  /** Numbers are aligned to the right. */
  align?: 'right';
  /** Not shown on narrow screens. */
  wideOnly?: boolean;
  /** The width of the column in CSS, such as `12rem`; by default it takes its share of the rest. */
  width?: string;
}

interface DataTableProps<Row> {
  /** What the table lists, for screen readers. */
  label: string;
  rows: readonly Row[];
  columns: readonly TableColumn<Row>[];
  rowKey: (row: Row) => string | number;
  /** Called when a row is pressed, or Enter is pressed on it. The first cell should still have a link. */
  onOpen?: ((row: Row) => void) | undefined;
  /** The keys of ticked rows; rows have ticks only if this is given. */
  selection?: {
    selected: ReadonlySet<string | number>;
    change: (next: ReadonlySet<string | number>) => void;
  };
  /** Shown instead of rows if there are none. */
  empty?: ReactNode;
}

/** With more rows than this, only those in view are in the page. */
const VIRTUAL_FROM = 60;
const ROW_PX = 41;
const OVERSCAN = 8;
const features = tableFeatures({});

/** Moves the focus from row to row by the arrow keys, and opens a row by Enter. */
function moveByKeys(event: KeyboardEvent<HTMLTableRowElement>, open: (() => void) | undefined): void {
  if (event.target !== event.currentTarget) return;
  const row = event.currentTarget;
  const next = { ArrowDown: row.nextElementSibling, ArrowUp: row.previousElementSibling }[event.key];
  if (next instanceof HTMLElement) {
    event.preventDefault();
    next.focus();
  } else if (event.key === 'Enter' && open) {
    open();
  }
}

/** On narrow screens, the table scrolls in its frame rather than break words into letters. */
const widthStyle = (width: string | undefined) =>
  width === undefined ? {} : { width, minWidth: `min(${width}, 11rem)` };

const classOf = (column: Pick<TableColumn<never>, 'align' | 'wideOnly'> | undefined) =>
  [column?.align === 'right' ? 'right' : '', column?.wideOnly === true ? 'wide-only' : ''].join(' ').trim() ||
  undefined;

/** Returns which rows are in view, and the heights in pixels of those above and below them. */
function useRowsInView(count: number, scroller: RefObject<HTMLDivElement | null>) {
  const isVirtual = count > VIRTUAL_FROM;
  const virtualizer = useVirtualizer({
    count,
    enabled: isVirtual,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: OVERSCAN,
  });
  if (!isVirtual)
    return { isVirtual, shown: Array.from({ length: count }, (_, index) => ({ index })), above: 0, below: 0 };
  const shown = virtualizer.getVirtualItems();
  const above = shown[0]?.start ?? 0;
  const below = virtualizer.getTotalSize() - (shown.at(-1)?.end ?? 0);
  return { isVirtual, shown, above, below };
}

/**
 * The content of a cell. The function of a column may be another one each time: as a component of its own, it would
 * take a dialog that is open in the cell, and what is typed there, away.
 */
const Cell = <Row,>({ show, row }: { show: ((row: Row) => ReactNode) | undefined; row: Row }) => show?.(row);

/** A table of resources. With many rows it draws only those in view. */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const { rows: data, columns, rowKey, selection, onOpen } = props;
  const defined = useMemo(() => {
    const helper = createColumnHelper<typeof features, Row & object>();
    return helper.columns(columns.map(({ key, header }) => helper.display({ id: key, header })));
  }, [columns]);
  const table = useTable({
    features,
    columns: defined,
    data: data as readonly (Row & object)[],
    getRowId: (row) => String(rowKey(row)),
  });
  const { rows } = table.getRowModel();
  const scroller = useRef<HTMLDivElement>(null);
  const { isVirtual, shown, above, below } = useRowsInView(rows.length, scroller);
  if (rows.length === 0) return <>{props.empty ?? <p className="muted">None.</p>}</>;
  const byKey = new Map(columns.map((column) => [column.key, column]));
  const width = columns.length + (selection ? 1 : 0);
  const spacer = (height: number) =>
    height > 0 && (
      <tr aria-hidden="true" style={{ height }}>
        <td colSpan={width} />
      </tr>
    );
  return (
    <div
      className={isVirtual ? 'table-frame scrolling' : 'table-frame'}
      ref={scroller}
      tabIndex={isVirtual ? 0 : undefined}
    >
      <table aria-label={props.label} aria-rowcount={rows.length + 1}>
        <thead>
          {table.getHeaderGroups().map((group) => (
            <tr key={group.id}>
              {selection && <SelectAll keys={data.map(rowKey)} selection={selection} />}
              {group.headers.map((header) => {
                const column = byKey.get(header.id);
                return (
                  <th
                    key={header.id}
                    scope="col"
                    className={classOf(column)}
                    style={widthStyle(column?.width)}
                  >
                    {column?.header}
                  </th>
                );
              })}
            </tr>
          ))}
        </thead>
        <tbody>
          {spacer(above)}
          {shown.map(({ index }) => {
            const row = rows[index];
            if (!row) return null;
            const open = onOpen && (() => onOpen(row.original));
            return (
              <tr
                key={row.id}
                aria-rowindex={index + 2}
                tabIndex={open ? 0 : undefined}
                className={open ? 'opens' : undefined}
                onClick={open}
                onKeyDown={(event) => moveByKeys(event, open)}
              >
                {selection && <SelectRow rowKey={rowKey(row.original)} selection={selection} />}
                {row.getAllCells().map((cell) => (
                  <td key={cell.id} className={classOf(byKey.get(cell.column.id))}>
                    <Cell show={byKey.get(cell.column.id)?.cell} row={row.original} />
                  </td>
                ))}
              </tr>
            );
          })}
          {spacer(below)}
        </tbody>
      </table>
    </div>
  );
}

type Selection = NonNullable<DataTableProps<unknown>['selection']>;

function SelectAll({ keys, selection }: { keys: (string | number)[]; selection: Selection }) {
  const all = keys.every((key) => selection.selected.has(key));
  return (
    <th scope="col" className="tick">
      <input
        type="checkbox"
        aria-label="Select all on this page"
        checked={all}
        onChange={() => selection.change(new Set(all ? [] : keys))}
      />
    </th>
  );
}

function SelectRow({ rowKey, selection }: { rowKey: string | number; selection: Selection }) {
  const { selected, change } = selection;
  const toggle = () => {
    const next = new Set(selected);
    if (!next.delete(rowKey)) next.add(rowKey);
    change(next);
  };
  return (
    <td className="tick" onClick={(event) => event.stopPropagation()}>
      <input
        type="checkbox"
        aria-label={`Select ${rowKey}`}
        checked={selected.has(rowKey)}
        onChange={toggle}
      />
    </td>
  );
}
