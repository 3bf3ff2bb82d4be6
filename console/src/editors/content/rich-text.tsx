import type { EditorState, Transaction } from '@tiptap/pm/state';
import { EditorContent, useEditor, type Editor } from '@tiptap/react';
import { useEffect, useRef, useState } from 'react';
import { Button } from '../../ui/button.tsx';
import { Field, TextArea } from '../../ui/field.tsx';
import { LIQUID_NODE, type RichNode } from './rich-doc.ts';
import { htmlOf } from './rich-html.ts';
import { parseHtml } from './rich-parser.ts';
import { richExtensions } from './rich-schema.ts';
import { RichToolbar } from './rich-toolbar.tsx';
import { ValueDialog } from './value-dialog.tsx';

interface RichTextProps {
  label: string;
  value: string;
  onChange: (html: string) => void;
  names: readonly string[];
  error?: readonly string[];
}

/** A text of a letter. HTML that the text editor cannot hold exactly is edited as source. */
export function RichTextField(props: RichTextProps) {
  const { label, value, onChange, error } = props;
  const [wantsSource, setWantsSource] = useState(() => parseHtml(value) === null);
  // While Liquid is typed, it is not complete, and could not be read back.
  const [own, setOwn] = useState<{ html: string; document: RichNode } | null>(null);
  const document = own?.html === value ? own.document : parseHtml(value);
  if (!wantsSource && document) {
    return (
      <RichText
        {...props}
        document={document}
        onWrite={(written) => {
          setOwn({ document: written, html: htmlOf(written) });
          onChange(htmlOf(written));
        }}
        onSource={() => {
          setOwn(null);
          setWantsSource(true);
        }}
      />
    );
  }
  return (
    <div className="stack">
      <Field
        label={`${label} as HTML`}
        error={error}
        {...(document ? {} : { hint: 'The text editor would change this HTML, so it is edited as it is.' })}
      >
        <TextArea
          className="mono"
          rows={8}
          spellCheck={false}
          value={value}
          onChange={(event) => {
            setWantsSource(true);
            onChange(event.target.value);
          }}
        />
      </Field>
      {document && (
        <div>
          <Button onClick={() => setWantsSource(false)}>Edit as text</Button>
        </div>
      )}
    </div>
  );
}

/** The chip that a dialog changes. */
interface Chip {
  at: number;
  source: string;
}

/** Returns the chip that is selected; null if it is anything else. */
function selectedChip({ selection, doc }: EditorState): Chip | null {
  const node = doc.nodeAt(selection.from);
  if (node?.type.name !== LIQUID_NODE || selection.to !== selection.from + 1) return null;
  return { at: selection.from, source: String(node.attrs.source) };
}

/** Inserts a value, or changes one. It is as bold as the text around it. */
function putValue(editor: Editor, chip: Chip | null, source: string): void {
  const put = ({ tr }: { tr: Transaction }) => {
    const node = editor.schema.node(LIQUID_NODE, { source });
    if (chip === null) tr.replaceSelectionWith(node, true);
    else tr.setNodeMarkup(chip.at, null, { source });
    return true;
  };
  editor.chain().focus().command(put).run();
}

function RichText({
  label,
  value,
  document,
  onWrite,
  names,
  error = [],
  onSource,
}: RichTextProps & {
  document: RichNode;
  onWrite: (document: RichNode) => void;
  onSource: () => void;
}) {
  // The dialog for a value: of a chip, or of a new one.
  const [dialog, setDialog] = useState<{ chip: Chip | null } | null>(null);
  // The HTML that the editor has; another value came from outside.
  const written = useRef(value);
  const latest = useRef(onWrite);
  useEffect(() => {
    latest.current = onWrite;
  });
  const editor = useEditor({
    extensions: richExtensions,
    content: document,
    injectCSS: false,
    shouldRerenderOnTransaction: false,
    editorProps: {
      attributes: { class: 'rich-content', role: 'textbox', 'aria-multiline': 'true', 'aria-label': label },
      handleClickOn(_view, _pos, node, at) {
        if (node.type.name !== LIQUID_NODE) return false;
        setDialog({ chip: { at, source: String(node.attrs.source) } });
        return false;
      },
      handleKeyDown({ state }, { key }) {
        const chip = key === 'Enter' ? selectedChip(state) : null;
        if (chip) setDialog({ chip });
        return chip !== null;
      },
    },
    onUpdate({ editor: changed }) {
      const next = changed.getJSON() as RichNode;
      written.current = htmlOf(next);
      latest.current(next);
    },
  });
  useEffect(() => {
    if (value === written.current) return;
    written.current = value;
    editor.commands.setContent(document, { emitUpdate: false });
  }, [editor, value, document]);
  return (
    <div className="rich-text">
      <span className="rich-label">{label}</span>
      <RichToolbar
        editor={editor}
        names={names}
        onValue={() => setDialog({ chip: selectedChip(editor.state) })}
        onSource={onSource}
      />
      <EditorContent editor={editor} />
      {error.length > 0 && (
        <p className="field-error" role="alert">
          {error.join(' ')}
        </p>
      )}
      {dialog !== null && (
        <ValueDialog
          source={dialog.chip?.source ?? null}
          names={names}
          onChoose={(source) => putValue(editor, dialog.chip, source)}
          onClose={() => setDialog(null)}
          onFocusBack={() => editor.view.focus()}
        />
      )}
    </div>
  );
}
