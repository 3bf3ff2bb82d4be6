import { Field, TextInput } from './field.tsx';

const MIN_LENGTH = 8;
const MAX_LENGTH = 1_024;

/** The field of a password that the user chooses, named `password`. @param username for password managers */
export function NewPassword({
  label,
  username,
  error,
}: {
  label: string;
  username: string;
  error: readonly string[];
}) {
  return (
    <>
      <input type="hidden" name="username" autoComplete="username" value={username} />
      <Field label={label} hint="At least 8 characters." error={error}>
        <TextInput
          name="password"
          type="password"
          autoComplete="new-password"
          required
          minLength={MIN_LENGTH}
          maxLength={MAX_LENGTH}
        />
      </Field>
    </>
  );
}
