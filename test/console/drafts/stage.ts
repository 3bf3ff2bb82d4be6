// Two people and a service that keeps one resource and its draft, for tests of drafts without a browser.
import { ApiError } from '../../../console/src/api/errors.ts';
import type { DraftForm, Merge, Published } from '../../../console/src/editors/draft/draft.ts';
import { createDevice } from '../../../console/src/editors/draft/device.ts';
import { DraftSession } from '../../../console/src/editors/draft/session.ts';
import { isObject } from '../../../console/src/ui/json-text.ts';
import type { StoredDraft } from '../../../console/src/editors/draft/versions.ts';

export interface Letter {
  subject: string;
  body?: string;
}

export const readLetter = (value: unknown): Letter | null =>
  isObject(value) && typeof value.subject === 'string' ? { ...value, subject: value.subject } : null;

/** A letter that is about nothing must have no body. */
const letterForm: DraftForm<Letter> = {
  read: readLetter,
  isSound: ({ subject, body }) => subject !== 'Nothing' || body === undefined,
};

const outdated = () => new ApiError({ status: 412, code: 'precondition_failed', message: 'it has changed' });

/** The storage of a browser. */
export class MemoryStorage implements Storage {
  [name: string]: unknown;
  readonly #room: () => number;
  /** The keys that were written, in order. */
  readonly #written: string[] = [];
  /** @param room how long all values together may be */
  constructor(room: () => number = () => Infinity) {
    this.#room = room;
    // As in a browser, the entries are the own enumerable properties.
    for (const name of ['getItem', 'setItem', 'removeItem', 'key', 'clear', 'countWrites'] as const) {
      Object.defineProperty(this, name, { enumerable: false, value: this[name] });
    }
  }
  get length(): number {
    return Object.keys(this).length;
  }
  getItem(key: string): string | null {
    return Object.hasOwn(this, key) ? String(this[key]) : null;
  }
  setItem(key: string, value: string): void {
    const others = Object.entries(this).filter(([name]) => name !== key);
    const used = others.reduce((sum, [, text]) => sum + String(text).length, 0);
    if (used + value.length > this.#room()) throw new DOMException('it is full', 'QuotaExceededError');
    this[key] = value;
    this.#written.push(key);
  }
  /** Returns how often entries were written whose keys begin with a prefix. */
  countWrites(prefix: string): number {
    return this.#written.filter((key) => key.startsWith(prefix)).length;
  }
  removeItem(key: string): void {
    Reflect.deleteProperty(this, key);
  }
  key(index: number): string | null {
    return Object.keys(this)[index] ?? null;
  }
  clear(): void {
    for (const key of Object.keys(this)) this.removeItem(key);
  }
}

/** A service with one letter. */
export class Service {
  published: Published<Letter> = { content: { subject: 'Live' }, etag: '"1"', at: '2026-01-01T08:00:00Z' };
  draft: StoredDraft<Letter> | null = null;
  /** What requests about the draft fail with. */
  failure: Error | null = null;
  requests: string[] = [];
  /** Who published last. */
  publisher: string | null = null;
  /** What happens once, right after the next save. */
  afterSave: () => void = () => undefined;
  private revision = 0;

  private arrive(request: string): void {
    this.requests.push(request);
    if (this.failure) throw this.failure;
  }

  load(): Promise<StoredDraft<Letter> | null> {
    this.arrive('load');
    return Promise.resolve(this.draft);
  }

  save(
    by: string,
    sent: { content: Letter; base: string; over: string | null; baseContent?: Letter | null },
  ): StoredDraft<Letter> {
    this.arrive('save');
    if ((this.draft?.etag ?? null) !== sent.over) throw outdated();
    this.revision += 1;
    const { content, base, baseContent = null } = structuredClone(sent);
    const saved = { content, base, baseContent, etag: `"d${this.revision}"`, at: '2026-01-01T10:04:00Z', by };
    this.draft = saved;
    const { afterSave } = this;
    this.afterSave = () => undefined;
    afterSave();
    return saved;
  }

  remove(etag: string): void {
    this.arrive('remove');
    if (this.draft && this.draft.etag !== etag) throw outdated();
    this.draft = null;
  }

  patch(content: Letter, etag: string): Promise<Published<Letter>> {
    if (etag !== this.published.etag) return Promise.reject(outdated());
    const next = Number(this.published.etag.replaceAll('"', '')) + 1;
    this.published = { content: structuredClone(content), etag: `"${next}"`, at: '2026-01-01T10:05:00Z' };
    return Promise.resolve(this.published);
  }
}

let tabs = 0;
let now = Date.UTC(2026, 0, 1);

/** An open editor. */
export class Editor {
  readonly session: DraftSession<Letter>;
  readonly replaced: (string | null)[] = [];
  readonly merged: Pick<Merge<Letter>, 'about' | 'by' | 'at' | 'paths'>[] = [];
  private due: (() => void) | null = null;
  private readonly service: Service;

  constructor(service: Service, by: string, storage: Storage = new MemoryStorage()) {
    this.service = service;
    tabs += 1;
    this.session = new DraftSession<Letter>(service.published, service.draft, {
      service: {
        load: async () => service.load(),
        save: async (sent) => service.save(by, sent),
        remove: async (etag) => service.remove(etag),
        publisher: async () => service.publisher,
      },
      form: letterForm,
      device: createDevice(by, String(tabs), readLetter, storage, () => (now += 1)),
      wait: (_ms, work) => {
        this.due = work;
        return () => {
          this.due = null;
        };
      },
      reloadPublished: () => this.session.seePublished(service.published),
      onReplaced: (stored) => this.replaced.push(stored?.by ?? null),
      onMerged: ({ about, by, at, paths }) => this.merged.push({ about, by, at, paths }),
    });
    this.session.start();
  }

  get draft() {
    return this.session.snapshot();
  }

  get isDue(): boolean {
    return this.due !== null;
  }

  write(change: Partial<Letter>): void {
    this.draft.change((content) => ({ ...content, ...change }));
  }

  /** Lets the time pass after which it saves. */
  async pause(): Promise<void> {
    await this.session.flush();
  }

  publish(expected?: Letter): Promise<void> {
    return this.draft.publish((content, etag) => this.service.patch(content, etag), expected);
  }
}
