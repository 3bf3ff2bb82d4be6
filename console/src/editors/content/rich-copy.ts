/**
 * Copies within the editors of this page keep what the clipboard's HTML does not have, such as the addresses of links.
 * Every page can forge that HTML, so it only says that an editor wrote it. What is inserted is what was copied here last,
 * and only if the clipboard still has its text.
 */
import { Slice } from '@tiptap/pm/model';
import type { EditorView } from '@tiptap/pm/view';

interface Copied {
  /** As JSON, because each editor has a schema of its own. */
  slice: unknown;
  text: string;
}

/** A browser has one clipboard, too. */
let last: Copied | null = null;

/** Clipboards change the ends of lines, and some of them spaces. */
const comparable = (text: string) => text.replaceAll(/\r\n?/g, '\n').replaceAll('\u00a0', ' ');

/** Remembers what is about to be copied or cut. */
export function rememberCopied(view: EditorView): void {
  const { selection } = view.state;
  if (selection.empty) return;
  const { slice, text } = view.serializeForClipboard(selection.content());
  last = { slice: slice.toJSON(), text: comparable(text) };
}

/** @returns what was copied here; null if the clipboard has something else */
export function copiedSlice(view: EditorView, clipboard: Pick<DataTransfer, 'getData'> | null): Slice | null {
  if (last === null || clipboard === null) return null;
  const isOfEditor = clipboard.getData('text/html').includes('data-pm-slice');
  const isLast = last.text !== '' && comparable(clipboard.getData('text/plain')) === last.text;
  return isOfEditor && isLast ? Slice.fromJSON(view.state.schema, last.slice) : null;
}
