"""Puts config_templates/ into the wheel; metadata and extras are in pyproject.toml."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent


class WithTemplates(build_py):
    """Puts config_templates/ into the package, for those who have no clone."""

    def run(self):
        """As ever, and then the templates; an editable install finds them where they are."""
        super().run()
        if not self.editable_mode:
            folder = Path(self.build_lib, 'gpassk_opencompass/templates')
            self.mkpath(str(folder))
            for template in sorted(ROOT.glob('config_templates/*.py')):
                self.copy_file(str(template), str(folder / template.name))


setup(cmdclass={'build_py': WithTemplates})
