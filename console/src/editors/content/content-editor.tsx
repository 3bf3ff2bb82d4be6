import { lazy, Suspense } from 'react';
import type { ContentEditorProps } from './content.ts';

const LetterEditor = lazy(async () => ({ default: (await import('./letter-editor.tsx')).LetterEditor }));
const SmsEditor = lazy(async () => ({ default: (await import('./sms-editor.tsx')).SmsEditor }));

/** Edits a content. The caller saves it; the editor itself is loaded when it is first shown. */
export function ContentEditor(props: ContentEditorProps) {
  return (
    <Suspense
      fallback={
        <div className="loading" role="status">
          Loading…
        </div>
      }
    >
      {props.channel === 'email' ? <LetterEditor {...props} /> : <SmsEditor {...props} />}
    </Suspense>
  );
}
