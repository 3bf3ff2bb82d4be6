import type { ReactNode } from 'react';

/** The frame of the pages without a brand, such as the sign-in. */
export function Entrance({ title, children }: { title: string; children: ReactNode }) {
  return (
    <main className="narrow">
      <p className="mark">Carillon</p>
      <section className="card">
        <h1>{title}</h1>
        {children}
      </section>
    </main>
  );
}
