// Light or dark: as the system says, until the user chooses.

import { useLayoutEffect, useState } from 'preact/hooks';
import { Icon } from '#console/parts/icon.tsx';

type Theme = 'light' | 'dark';
const storageKey = 'theme';

export function ThemeChoice() {
  const [theme, setTheme] = useState(currentTheme);
  const other: Theme = theme === 'dark' ? 'light' : 'dark';
  useLayoutEffect(() => apply(theme), [theme]);
  const title = other === 'dark' ? 'Dark mode' : 'Light mode';
  return (
    <button
      type="button"
      onClick={() => {
        localStorage.setItem(storageKey, other);
        setTheme(other);
      }}
    >
      <Icon name={other} /> <span class="wide">{title}</span>
    </button>
  );
}

function currentTheme(): Theme {
  const chosen = localStorage.getItem(storageKey);
  if (chosen === 'light' || chosen === 'dark') return chosen;
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
}

/** Before the user has chosen, the style sheet follows the system. */
function apply(theme: Theme): void {
  if (localStorage.getItem(storageKey) === null) return;
  document.documentElement.dataset.theme = theme;
}
