/** Shown to users whose accounts have no brand yet. */
export function NoBrandPage() {
  return (
    <main className="narrow">
      <h1>No brand yet</h1>
    </main>
  );
}
