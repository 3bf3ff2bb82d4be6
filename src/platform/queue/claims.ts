/** How a queue identifies a claim. Both parts are compared, so a queue with epochs always checks them. */
export interface ClaimKey<Claim> {
  /** @returns the id of the claimed row */
  idOf(claim: Claim): number;
  /** @returns a number that distinguishes two claims of one row; always 0 in a queue that is fenced by owner alone */
  epochOf(claim: Claim): number;
}

/**
 * The claims that this process knows it has. A claim that the database lists under the process's id, but that is
 * unknown here, is a stray: the response to the claim was lost, or the claim could not be released.
 */
export class KnownClaims<Claim> {
  readonly #key: ClaimKey<Claim>;
  readonly #claims = new Map<number, Claim>();
  /** Epochs of the possible strays seen so far, by row id. */
  #strays = new Map<number, number>();
  /** The process id under which these were seen. */
  #straysOwner: number | null = null;

  constructor(key: ClaimKey<Claim>) {
    this.#key = key;
  }

  get size(): number {
    return this.#claims.size;
  }

  /** Whether the last look at the database found a claim that is unknown here. */
  get hasSuspects(): boolean {
    return this.#strays.size > 0;
  }

  all(): Claim[] {
    return [...this.#claims.values()];
  }

  /** @returns the claims that were unknown before */
  add<Claimed extends Claim>(claims: readonly Claimed[]): Claimed[] {
    const added = claims.filter((claim) => !this.#knows(claim));
    for (const claim of added) this.#claims.set(this.#key.idOf(claim), claim);
    return added;
  }

  /** A newer claim of the same row stays registered. */
  forget(claims: readonly Claim[]): void {
    for (const claim of claims) if (this.#knows(claim)) this.#claims.delete(this.#key.idOf(claim));
  }

  /** Counts claims that could not be released as seen once, so that the next sweep releases them. */
  markStray(owner: number, claims: readonly Claim[]): void {
    const strays = this.#straysOf(owner);
    for (const claim of claims) strays.set(this.#key.idOf(claim), this.#key.epochOf(claim));
  }

  /**
   * A claim is a stray only if it is unknown twice in a row: the first time, the response to its claim may still be
   * on its way.
   * @param listed all claims that the database lists under `owner`
   * @returns the strays, to be released
   */
  findStrays(owner: number, listed: readonly Claim[]): Claim[] {
    const before = this.#straysOf(owner);
    const unknown = listed.filter((claim) => !this.#knows(claim));
    this.#strays = new Map(unknown.map((claim) => [this.#key.idOf(claim), this.#key.epochOf(claim)]));
    return unknown.filter((claim) => before.get(this.#key.idOf(claim)) === this.#key.epochOf(claim));
  }

  #knows(claim: Claim): boolean {
    const known = this.#claims.get(this.#key.idOf(claim));
    return known !== undefined && this.#key.epochOf(known) === this.#key.epochOf(claim);
  }

  /** Claims seen under a former process id do not count, because the reaper has released them. */
  #straysOf(owner: number): Map<number, number> {
    if (this.#straysOwner !== owner) {
      this.#straysOwner = owner;
      this.#strays = new Map();
    }
    return this.#strays;
  }
}
