import type { QueueState } from '../../../platform/queue/loop.ts';
import { type ByteBudget, createByteBudget, partOf } from '../turns/byte-budget.ts';
import { type Budgets, ProviderShare, type ShareDeps } from './provider-share.ts';
import type { ProviderChannel } from '../compose/provider-channel.ts';

/**
 * The provider shares that a sender serves: those of the providers in the settings, and those of named providers, which
 * are added and removed while it runs.
 */
export class ProviderShares {
  readonly #deps: ShareDeps;
  readonly #budget: ByteBudget = createByteBudget();
  readonly #files: ByteBudget;
  readonly #filesBytes: number;
  readonly #shares = new Map<string, ProviderShare>();
  readonly #ending = new Set<Promise<void>>();
  /** Named providers that this process cannot use, with the reason. */
  readonly #unusable = new Map<string, string>();
  #started = false;

  /**
   * @param channels of the providers in the settings
   * @param filesBytes the most bytes that files of letters take in memory; each provider may always take one
   */
  constructor(deps: ShareDeps, channels: readonly ProviderChannel[], filesBytes: number) {
    this.#deps = deps;
    this.#filesBytes = filesBytes;
    this.#files = createByteBudget(filesBytes);
    for (const channel of channels) {
      const budgets: Budgets = { contents: this.#budget, files: partOf(this.#files, filesBytes) };
      this.#put(new ProviderShare(channel, budgets, deps));
    }
  }

  start(): void {
    this.#started = true;
    for (const share of this.#shares.values()) share.start();
  }

  all(): ProviderShare[] {
    return [...this.#shares.values()];
  }

  get(name: string): ProviderShare | undefined {
    return this.#shares.get(name);
  }

  /** Adds a named provider. It replaces the former provider of the share, which stops. */
  add(channel: ProviderChannel): void {
    const files = partOf(this.#files, this.#filesBytes / 2);
    const share = new ProviderShare(channel, { contents: partOf(this.#budget), files }, this.#deps);
    this.remove(share.name);
    this.#put(share);
    if (this.#started) share.start();
    this.#deps.loop.wake();
  }

  /** Stops sending through a named provider. The messages of its share wait. */
  remove(name: string): void {
    const share = this.#shares.get(name);
    if (!share) return;
    this.#shares.delete(name);
    const ending = this.#end(share).finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }

  /** Sets which named providers this process cannot use, for operators. @param reasons by `email:<name>` */
  setUnusable(reasons: ReadonlyMap<string, string>): void {
    this.#unusable.clear();
    for (const [name, reason] of reasons) this.#unusable.set(name, reason);
  }

  /** The state of each provider's breaker, by channel and name. */
  report(): QueueState['providers'] {
    const used = this.all().map(
      ({ channel, breaker }) => [`${channel.channel}:${channel.provider}`, breaker.report()] as const,
    );
    const unusable = [...this.#unusable].map(
      ([name, reason]) => [name, { state: 'open', reason, retryAt: null }] as const,
    );
    return Object.fromEntries([...unusable, ...used]);
  }

  /** Intends and hands over nothing more, see {@link ProviderShare.stop}. */
  stop(): void {
    for (const share of this.#shares.values()) share.stop();
  }

  /** Resolves when the outcomes of all batches are recorded. */
  async finish(): Promise<void> {
    await Promise.all([...this.all().map((share) => share.finish()), ...this.#ending]);
  }

  async close(): Promise<void> {
    await Promise.all(this.all().map(({ channel }) => channel.close()));
  }

  #put(share: ProviderShare): void {
    this.#shares.set(share.name, share);
  }

  async #end(share: ProviderShare): Promise<void> {
    const { log, loop } = this.#deps;
    try {
      share.stop();
      await loop.giveBack(share.buffer.drain());
      await share.finish();
      await share.channel.close();
    } catch (error) {
      log.warn({ err: error, provider: share.channel.provider }, 'provider not closed properly');
    }
  }
}
