// Components with a script of their own, since few pages mount them: what all others are in stays as it is.
export const OWN = {
  code_tab: "src/learn/code_tab/codeTab.tsx",
  small_figures: "src/learn/small_figures/smallFigures.tsx",
  architecture: "src/widgets/architecture/architecture.tsx",
  lab_picture: "src/labs/lab_picture/labPicture.tsx",
};
