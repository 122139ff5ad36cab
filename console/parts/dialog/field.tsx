// A labelled input. A problem with its value is shown below it, and announced with it.

import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

interface FieldProps {
  readonly label: string;
  readonly name: string;
  readonly type?: 'text' | 'password' | 'search' | 'date' | 'datetime-local' | 'number';
  readonly value?: string;
  readonly hint?: ComponentChildren;
  readonly problem?: string | undefined;
  readonly autocomplete?: string;
  readonly isRequired?: boolean;
  readonly maxLength?: number;
  readonly onInput?: (value: string) => void;
}

export function Field(props: FieldProps) {
  const { label, name, type = 'text', value, hint, problem, autocomplete, isRequired } = props;
  const id = useId();
  const about = [hint && `${id}-hint`, problem && `${id}-problem`].filter(Boolean).join(' ');
  return (
    <div class="field">
      <label for={id}>
        {label}
        {!isRequired && type !== 'search' && <span class="optional"> (optional)</span>}
      </label>
      <input
        id={id}
        name={name}
        // Preact has a type for each kind of input, and none matters here.
        type={type as 'text'}
        defaultValue={props.onInput ? undefined : value}
        {...(props.onInput && { value })}
        autocomplete={autocomplete ?? 'off'}
        required={isRequired}
        maxLength={props.maxLength}
        aria-invalid={problem ? 'true' : undefined}
        aria-describedby={about || undefined}
        onInput={(event) => props.onInput?.(event.currentTarget.value)}
      />
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {problem && (
        <p class="problem" id={`${id}-problem`}>
          {problem}
        </p>
      )}
    </div>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly options: readonly (readonly [value: string, title: string])[];
  readonly onChange: (value: string) => void;
}

export function Choice({ label, value, options, onChange }: ChoiceProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map(([each, title]) => (
          <option key={each} value={each}>
            {title}
          </option>
        ))}
      </select>
    </div>
  );
}
