import { Link } from '@tanstack/react-router';

export function NotFound() {
  return (
    <main className="narrow">
      <h1>Not found</h1>
      <p>There is nothing at this address, or you may not see it.</p>
      <p>
        <Link to="/">Go to the overview</Link>
      </p>
    </main>
  );
}
