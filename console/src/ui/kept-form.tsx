import {
  createContext,
  Fragment,
  useContext,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  type ReactNode,
  type SubmitEvent,
} from 'react';
import { useBrand } from '../shell/brand.ts';
import { keepForUser, userKey } from '../shell/user-storage.ts';
import { Button } from './button.tsx';
import { Time } from './details.tsx';
import { changedFields, type KeptFields, putBack, readEntry } from './kept-fields.ts';
import { Notice } from './notice.tsx';

interface Restored {
  at: number;
  /** The labels of fields that someone else has changed since. */
  others: readonly string[];
}

/** Why what is typed is not kept: the storage is full, or has what was typed into the same form in another tab. */
type NotKept = 'full' | 'other tab';

/** The entry that this form has written or restored, and its fields as text. */
interface Own {
  entry: string | null;
  fields: string;
}

const NOTHING: Own = { entry: null, fields: '{}' };

/** What this browser keeps of a form until it is sent. */
export interface Kept {
  /** Rises when the form begins again with what the page gives. */
  generation: number;
  /** What is left of an earlier visit; null if nothing is, or if the user has seen to it. */
  restored: Restored | null;
  /** Null if what was typed is kept. */
  notKept: NotKept | null;
  /** What an earlier visit has left in a field that a component shows, for its first state. */
  first: (field: string) => string | undefined;
  /** What the page gave that field then. */
  base: (field: string) => string | undefined;
  /** Puts back what an earlier visit has left. */
  restore: (form: HTMLFormElement) => void;
  /** Keeps what the form has now. */
  write: (form: HTMLFormElement) => void;
  /** Remembers what is sent. */
  send: () => void;
  /** What was sent is saved. What was typed since is kept. */
  done: () => void;
  discard: () => void;
}

/**
 * Keeps what the user types into a form, for their next visit, until it is sent or discarded. Give the result to the
 * form, and to its action.
 * @param name of the form in the brand; with the id of what it changes
 * @param options.resets whether the form is empty again once it was sent
 */
export function useKept(name: string, { resets = false } = {}): Kept {
  const { brandId, signedIn } = useBrand();
  const key = userKey(signedIn.user.id, `form.${brandId}.${name}`);
  const [generation, setGeneration] = useState(0);
  const [restored, setRestored] = useState<Restored | null>(null);
  const [notKept, setNotKept] = useState<NotKept | null>(null);
  /** Another tab may have written the entry since. Then it is not this form's to change. */
  const own = useRef<Own>(NOTHING);
  /** The changed fields, as text. */
  const latest = useRef('{}');
  const sent = useRef<string | null>(null);
  /** What is saved, though the page may not show it as such yet. */
  const saved = useRef<string | null>(null);
  const actions = useMemo(() => {
    const read = () => readEntry(localStorage.getItem(key), Date.now());
    const isFree = () => read() === null || localStorage.getItem(key) === own.current.entry;
    const forget = () => {
      if (isFree()) localStorage.removeItem(key);
      own.current = NOTHING;
      setRestored(null);
      setNotKept(null);
    };
    const keep = (fields: KeptFields, text: string) => {
      const entry = JSON.stringify({ fields, at: Date.now() });
      const hasRoom = keepForUser(key, entry);
      if (hasRoom) own.current = { entry, fields: text };
      setNotKept(hasRoom ? null : 'full');
    };
    const again = () => setGeneration((before) => before + 1);
    return {
      first: (field: string) => read()?.fields[field]?.values[0],
      base: (field: string) => read()?.fields[field]?.base[0],
      restore(form: HTMLFormElement) {
        const entry = read();
        own.current = entry
          ? { entry: localStorage.getItem(key), fields: JSON.stringify(entry.fields) }
          : NOTHING;
        if (!entry) return;
        const { isChanged, others } = putBack(form, entry.fields);
        setRestored(isChanged ? { at: entry.at, others } : null);
      },
      write(form: HTMLFormElement) {
        const fields = changedFields(form);
        const text = JSON.stringify(fields);
        latest.current = text;
        if (text === saved.current) return;
        if (text === JSON.stringify(read()?.fields ?? {})) {
          own.current = { entry: localStorage.getItem(key), fields: text };
          setNotKept(null);
        } else if (!isFree()) {
          setNotKept(text === own.current.fields ? null : 'other tab');
        } else {
          saved.current = null;
          if (text === '{}') forget();
          else keep(fields, text);
        }
      },
      send() {
        sent.current = latest.current;
      },
      done() {
        if (latest.current !== sent.current) return;
        saved.current = latest.current;
        forget();
        if (resets) again();
      },
      discard() {
        forget();
        again();
      },
    };
  }, [key, resets]);
  return { ...actions, generation, restored, notKept };
}

const Left = createContext<Kept['first']>(() => undefined);

/** What an earlier visit has left in a field of the form around a component, for its first state. */
export const useLeft = (name: string | undefined): string | undefined => {
  const first = useContext(Left);
  return name === undefined ? undefined : first(name);
};

interface FormProps {
  onSubmit: (event: SubmitEvent<HTMLFormElement>) => void;
  children: ReactNode;
}

const NOT_KEPT: Readonly<Record<NotKept, string>> = {
  full: 'This browser has no room to keep what you type.',
  'other tab': 'Another tab keeps what was typed there into this form, so what you type here is not kept.',
};

/** A form. @param props.kept null for one that has nothing to lose, or whose contents must not stay in the browser */
export function KeptForm({ kept, ...form }: FormProps & { kept: Kept | null }) {
  return kept ? <Keeping kept={kept} {...form} /> : <form {...form} />;
}

function Keeping({ kept, onSubmit, children }: FormProps & { kept: Kept }) {
  const element = useRef<HTMLFormElement>(null);
  const { generation, restored, notKept, restore, write, send, discard } = kept;
  useLayoutEffect(() => {
    if (element.current) restore(element.current);
  }, [generation, restore]);
  // Components draw what they were given; then their hidden fields have it.
  useEffect(() => {
    if (element.current) write(element.current);
  });
  useEffect(() => {
    if (notKept === null) return;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    globalThis.addEventListener('beforeunload', ask);
    return () => globalThis.removeEventListener('beforeunload', ask);
  }, [notKept]);
  const onInput = () => {
    const form = element.current;
    if (!form) return;
    write(form);
    // The state of a component in the form changes after the event.
    setTimeout(() => form.isConnected && write(form));
  };
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    write(event.currentTarget);
    send();
    onSubmit(event);
  };
  return (
    <form ref={element} onSubmit={submit} onInput={onInput} onBlur={onInput}>
      {restored && (
        <Notice tone="warn" title="Not saved yet">
          <p>
            What you typed here <Time at={new Date(restored.at).toISOString()} /> was kept in this browser.
            {restored.others.length > 0 &&
              ` Someone else has changed this since: ${restored.others.join(', ')}.`}
          </p>
          <Button onClick={discard}>Discard what was typed</Button>
        </Notice>
      )}
      {notKept !== null && <Notice tone="warn">{NOT_KEPT[notKept]} Save it before you leave.</Notice>}
      <Left value={kept.first}>
        <Fragment key={generation}>{children}</Fragment>
      </Left>
    </form>
  );
}
