/** Random id of this tab, so that the page knows its own actions again. */
export const WINDOW_ID = [...crypto.getRandomValues(new Uint8Array(9))]
  .map((byte) => byte.toString(36).padStart(2, '0'))
  .join('');
