import { type Editor, useEditorState } from '@tiptap/react';
import { useState } from 'react';
import { Select } from '../../ui/field.tsx';
import { LinkDialog } from './link-dialog.tsx';
import { hrefOf, linkAttributes } from './rich-link.ts';

const LEVELS = [1, 2, 3] as const;
const BLOCKS = [
  { value: '0', label: 'Paragraph' },
  ...LEVELS.map((level) => ({ value: String(level), label: `Heading ${level}` })),
];

interface Tool {
  label: string;
  sign: string;
  /** The node or mark that is on; null for a command. */
  of: string | null;
  run: (editor: Editor) => void;
}

const TOOLS: readonly Tool[] = [
  { label: 'Bold', sign: 'B', of: 'bold', run: (editor) => editor.chain().focus().toggleBold().run() },
  { label: 'Italic', sign: 'I', of: 'italic', run: (editor) => editor.chain().focus().toggleItalic().run() },
  {
    label: 'Underline',
    sign: 'U',
    of: 'underline',
    run: (editor) => editor.chain().focus().toggleUnderline().run(),
  },
  {
    label: 'List',
    sign: 'List',
    of: 'bulletList',
    run: (editor) => editor.chain().focus().toggleBulletList().run(),
  },
  {
    label: 'Numbers',
    sign: 'Numbers',
    of: 'orderedList',
    run: (editor) => editor.chain().focus().toggleOrderedList().run(),
  },
  { label: 'Undo', sign: '↶', of: null, run: (editor) => editor.chain().focus().undo().run() },
  { label: 'Redo', sign: '↷', of: null, run: (editor) => editor.chain().focus().redo().run() },
];

/** The form of the paragraph in which the cursor is, as the value of the choice. */
const blockOf = (editor: Editor) =>
  String(LEVELS.find((level) => editor.isActive('heading', { level })) ?? 0);

/** What can be done with the selected text. */
export function RichToolbar({
  editor,
  names,
  onValue,
  onSource,
}: {
  editor: Editor;
  names: readonly string[];
  onValue: () => void;
  onSource: () => void;
}) {
  const [isLinking, setLinking] = useState(false);
  const state = useEditorState({
    editor,
    selector: ({ editor: current }) => ({
      active: TOOLS.map(({ of }) => of !== null && current.isActive(of)),
      block: blockOf(current),
      link: current.isActive('link') ? String(current.getAttributes('link').attributes ?? '') : null,
    }),
  });
  const setBlock = (value: string) => {
    const level = LEVELS.find((each) => String(each) === value);
    const chain = editor.chain().focus();
    (level === undefined ? chain.setParagraph() : chain.setHeading({ level })).run();
  };
  const setLink = (href: string) => {
    const chain = editor.chain().focus().extendMarkRange('link');
    if (href === '') return void chain.unsetMark('link').run();
    const mark = { type: 'link', attrs: { attributes: linkAttributes(state.link ?? '', href) } };
    if (state.link === null && editor.state.selection.empty) {
      return void chain.insertContent({ type: 'text', text: href, marks: [mark] }).run();
    }
    return void chain.setMark('link', mark.attrs).run();
  };
  return (
    <div className="rich-tools" role="toolbar" aria-label="Format">
      <Select
        aria-label="Kind of paragraph"
        options={BLOCKS}
        value={state.block}
        onChange={(event) => setBlock(event.target.value)}
      />
      {TOOLS.map(({ label, sign, of, run }, index) => (
        <button
          key={label}
          type="button"
          className="button quiet"
          aria-label={label}
          title={label}
          {...(of === null ? {} : { 'aria-pressed': state.active[index] === true })}
          onClick={() => run(editor)}
        >
          {sign}
        </button>
      ))}
      <button
        type="button"
        className="button quiet"
        aria-pressed={state.link !== null}
        onClick={() => setLinking(true)}
      >
        Link
      </button>
      <button type="button" className="button quiet" onClick={onValue}>
        Value
      </button>
      <button type="button" className="button quiet" onClick={onSource}>
        HTML
      </button>
      {isLinking && (
        <LinkDialog
          href={state.link === null ? '' : hrefOf(state.link)}
          names={names}
          onChoose={setLink}
          onClose={() => setLinking(false)}
          onFocusBack={() => editor.view.focus()}
        />
      )}
    </div>
  );
}
