// Signs in at Keystone, with a password or an application credential.

import { useState } from 'preact/hooks';
import type { SignedIn, SignInBody } from '#core/contracts/api/openstack.ts';
import { type ApiFailure, asFailure } from './api/failure.ts';
import { Field } from './parts/dialog/field.tsx';
import { Notice } from './parts/notice.tsx';
import { signIn } from './session/session.ts';

const methods: readonly (readonly [SignInBody['method'], title: string])[] = [
  ['password', 'Password'],
  ['application_credential', 'Application credential'],
];

interface SignInFormProps {
  /** The user whose session has ended; the form begins with that name. */
  readonly user?: string;
  readonly project?: string;
  readonly onSignedIn: (signedIn: SignedIn) => Promise<void> | void;
}

export function SignInForm({ user = '', project = '', onSignedIn }: SignInFormProps) {
  const [method, setMethod] = useState<SignInBody['method']>('password');
  const [failure, setFailure] = useState<ApiFailure>();
  const [isBusy, setBusy] = useState(false);

  async function submit(event: SubmitEvent) {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const fields = new FormData(form);
    const text = (name: string) => String(fields.get(name) ?? '');
    setBusy(true);
    setFailure(undefined);
    try {
      await onSignedIn(await signIn(readCredentials(method, text)));
    } catch (error) {
      setFailure(asFailure(error));
      setBusy(false);
    }
  }

  return (
    <form class="stack" onSubmit={submit}>
      <fieldset class="choices">
        <legend>Sign in with</legend>
        {methods.map(([each, title]) => (
          <label key={each}>
            <input
              type="radio"
              name="method"
              checked={method === each}
              onChange={() => setMethod(each)}
            />
            {title}
          </label>
        ))}
      </fieldset>
      {method === 'password' ? (
        <>
          <Field label="User" name="user" autocomplete="username" value={user} isRequired />
          <Field label="User domain" name="domain" value="Default" isRequired />
          <Field
            label="Password"
            name="password"
            type="password"
            autocomplete="current-password"
            isRequired
          />
          <Field label="Project" name="project" value={project} isRequired />
          <Field label="Project domain" name="project_domain" value="Default" isRequired />
        </>
      ) : (
        <>
          <Field label="Credential id" name="id" autocomplete="username" isRequired />
          <Field
            label="Secret"
            name="secret"
            type="password"
            autocomplete="current-password"
            isRequired
          />
        </>
      )}
      {failure && <Notice tone="error">{failure.message}</Notice>}
      <button type="submit" class="primary" disabled={isBusy}>
        {isBusy ? 'Signing in...' : 'Sign in'}
      </button>
    </form>
  );
}

function readCredentials(method: SignInBody['method'], text: (name: string) => string): SignInBody {
  if (method === 'application_credential') {
    return { method, id: text('id'), secret: text('secret') };
  }
  return {
    method,
    user: text('user'),
    domain: text('domain'),
    password: text('password'),
    project: text('project'),
    project_domain: text('project_domain'),
  };
}
