/** Colours: as the system has them, light or dark. Loaded first, so that a page never flashes in the other ones. */
const STORAGE_KEY = 'millrace-theme';
const THEMES = ['auto', 'light', 'dark'];
const LABELS = { auto: 'as system', light: 'light', dark: 'dark' };

function stored() {
  try {
    const theme = localStorage.getItem(STORAGE_KEY);
    return THEMES.includes(theme) ? theme : 'auto';
  } catch {
    return 'auto';
  }
}

function apply(theme) {
  if (theme === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

apply(stored());

/** Lets the button go through the themes. */
export function bindTheme(button) {
  const show = (theme) => {
    button.textContent = `Theme: ${LABELS[theme]}`;
  };
  show(stored());
  button.addEventListener('click', () => {
    const theme = THEMES[(THEMES.indexOf(stored()) + 1) % THEMES.length];
    try {
      localStorage.setItem(STORAGE_KEY, theme);
    } catch {
      // Without storage the choice lasts as long as the page.
    }
    apply(theme);
    show(theme);
  });
}
